/*
 * Where a report goes: standard output, or a file that appears complete or not at all (written
 * beside it, then renamed; devices and pipes are written directly).
 */
#ifndef XFA_OUTPUT_H
#define XFA_OUTPUT_H

#include <stdio.h>

struct xfa_output {
    FILE *stream;
    char *path;      /* NULL: standard output */
    char *temporary; /* NULL: written directly */
};

/* Both return 0, or -1 after one line on stderr. Close also gives up a file that could not be
 * written fully. */
int xfa_output_open(struct xfa_output *output, const char *path);
int xfa_output_close(struct xfa_output *output);

/* Columns of the terminal that stream goes to, else $COLUMNS, else 120. */
int xfa_output_width(FILE *stream);

#endif
