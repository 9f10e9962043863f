/* Sections of the text report that have files of their own. */
#ifndef XFA_REPORT_TEXT_H
#define XFA_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

struct xfa_report;
struct xfa_view;
struct libscols_line;

/* Nothing when the program had no ranges. */
void xfa_write_phases(const struct xfa_report *report, const struct xfa_view *view, FILE *out);

/* Nothing when the driver moved no managed memory, unless that could not be seen. */
void xfa_write_managed(const struct xfa_report *report, const struct xfa_view *view, FILE *out);

/* Words of text on lines of at most `width` columns: the first behind `lead`, the others indented
 * as far. */
void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width);

/* A cell of a table with text that others wrote. */
void xfa_set_cell(struct libscols_line *line, size_t column, const char *text);

#endif
