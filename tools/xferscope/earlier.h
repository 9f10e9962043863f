/*
 * An earlier run, and how it was recorded, for `xferscope again`.
 */
#ifndef XFERSCOPE_EARLIER_H
#define XFERSCOPE_EARLIER_H

#include <limits.h>
#include <stddef.h>

struct earlier {
    char run[PATH_MAX];    /* absolute, ends in .xft */
    char folder[PATH_MAX]; /* the working directory of record */
    char *text;            /* which the words below are of */
    int argc;
    char **argv; /* "again", options of record, "--", the program and its arguments; NULL */
};

/*
 * `name`: of the run; NULL: the one in the working directory that was recorded last. Returns 0, or
 * -1 with one line in error: there is none, or how it was recorded is not known. *earlier lives
 * until this process ends.
 */
int earlier_find(const char *name, struct earlier *earlier, char *error, size_t error_bytes);

#endif
