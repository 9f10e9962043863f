/*
 * The output of a command: standard output, or a file that is written whole or not at all
 * (files.h).
 */
#ifndef XFA_OUTPUT_H
#define XFA_OUTPUT_H

#include "analyzer/base/files.h"

/* One at a time: they share a buffer. */
struct xfa_output {
    FILE *stream;
    const char *path; /* NULL: standard output */
    struct xfa_replacement file;
};

/* Both return 0, or -1 after one line on stderr. Opening fails for a machine profile, which is
 * never replaced; closing, for a file that could not be written completely. path: valid until the
 * output is closed; NULL or "-": standard output. */
int xfa_output_open(struct xfa_output *output, const char *path);
int xfa_output_close(struct xfa_output *output);

/* The first of the inputs (which may be NULL) that writing to `path` would replace; NULL: none. */
const char *xfa_output_replaces(const char *path, const char *const *inputs, size_t count);

/* Drops the output: a file is unchanged. */
void xfa_output_drop(struct xfa_output *output);

/* Should the stream get colours by default? It is a terminal with colours, and NO_COLOR is not set
 * (no-color.org). */
bool xfa_output_colour(FILE *stream);

/* Columns of the stream's terminal; else $COLUMNS; else, for standard output, which a pager may
 * show, those of standard error's terminal; else 120. */
int xfa_output_width(FILE *stream);

#endif
