/*
 * Where a report goes: standard output, or a file that appears complete or not at all (files.h).
 */
#ifndef XFA_OUTPUT_H
#define XFA_OUTPUT_H

#include "analyzer/base/files.h"

struct xfa_output {
    FILE *stream;
    const char *path; /* NULL: standard output */
    struct xfa_replacement file;
};

/* Both return 0, or -1 after one line on stderr; open also for a machine profile, which is not
 * replaced. Close also gives up a file that could not be
 * written fully. path must outlive the output; NULL or "-": standard output. */
int xfa_output_open(struct xfa_output *output, const char *path);
int xfa_output_close(struct xfa_output *output);

/* The first of the inputs (NULL: none) that writing to `path` would replace, and so lose; NULL:
 * none of them. */
const char *xfa_output_replaces(const char *path, const char *const *inputs, size_t count);

/* Gives up: a file stays as it was. */
void xfa_output_drop(struct xfa_output *output);

/* Should stream get colours when nobody says so? It goes to a terminal that has some, and NO_COLOR
 * is not set (no-color.org). */
bool xfa_output_colour(FILE *stream);

/* Columns of the terminal that stream goes to, else $COLUMNS, else, of standard output (which a
 * pager may show), those of standard error's, else 120. */
int xfa_output_width(FILE *stream);

#endif
