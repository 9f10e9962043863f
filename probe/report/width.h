/*
 * The probe's text as wide as the terminal: paragraphs are broken, and a table leaves out columns,
 * the least needed first, until it fits. Where the output is no terminal all is written.
 */
#ifndef XFP_WIDTH_H
#define XFP_WIDTH_H

#include <stddef.h>
#include <stdio.h>

#include <libsmartcols.h>

#define XFP_NO_WIDTH ((size_t)-1) /* of what is no terminal */

/* Columns of the stream's terminal, else XFP_NO_WIDTH. */
size_t xfp_width(FILE *out);

/* Writes the words of the text in lines of at most that width. */
void xfp_print_words(const char *text, size_t width, FILE *out);

/*
 * Prints a table. last_first: the numbers of columns that may be left out, in that order. A line
 * below says how many are. As libsmartcols does, it ends no last line. 0, or -1: it could not be
 * made or written.
 */
int xfp_print_fitting(struct libscols_table *table, const size_t *last_first, size_t count,
                      size_t width, FILE *out);

/* A cell of a table with text of the profile's. */
void xfp_set_text(struct libscols_line *line, size_t column, const char *text);

#endif
