/* Sections of the text report, each with a file of its own, and what they share (text.c). */
#ifndef XFA_TEXT_H
#define XFA_TEXT_H

#include <libsmartcols.h>

#include "analyzer/report/format.h"

void xfa_write_run(const struct xfa_report *report, FILE *out);
void xfa_write_machine(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_transfers(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Nothing when the program had no ranges. */
void xfa_write_phases(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Nothing when the driver moved no managed memory, unless that could not be seen. */
void xfa_write_managed(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Nothing when the host waited for nothing. */
void xfa_write_waits(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Nothing when there is one only, or none was told and none stands out. */
void xfa_write_ranks(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_findings(const struct xfa_report *report, const struct xfa_view *view, FILE *out);

/* ---- lines --------------------------------------------------------------------------------- */

/* A line of the run's or the machine's facts; nothing when text is NULL. */
void xfa_write_field(FILE *out, const char *name, const char *text);

static inline const char *xfa_plural(uint64_t count) /* of what takes an s */
{
    return count == 1 ? "" : "s";
}

/* Words of text on lines of at most `width` columns: the first behind `lead`, the others indented
 * as far. */
void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width);

/* The line about rows that the view does not show; nothing when there are none. */
void xfa_write_hidden(FILE *out, size_t hidden);

/* ---- tables -------------------------------------------------------------------------------- */

struct xfa_column {
    const char *name;
    double hint; /* of the width; 0: as wide as it needs */
    int flags;   /* SCOLS_FL_... */
};

/* NULL when there is no memory for it. */
struct libscols_table *xfa_text_table(const struct xfa_column *columns, size_t count, int width,
                                      FILE *out);
/* Prints and frees the table, which may be NULL; one without lines is not printed. */
void xfa_text_table_print(struct libscols_table *table, FILE *out);

/* A cell with text that others wrote. */
void xfa_set_cell(struct libscols_line *line, size_t column, const char *text);

#endif
