/* Sections of the text report, each with a file of its own, and what they share. */
#ifndef XFA_TEXT_H
#define XFA_TEXT_H

#include <libsmartcols.h>

#include "analyzer/report/facts.h"
#include "analyzer/report/format.h"

/* The first screen: what the run was, what to change, what that would save. */
void xfa_write_answer(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_run(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
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
/* Not of the report: two runs, or several on either side. */
void xfa_write_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                          FILE *out);

/* ---- looks ----------------------------------------------------------------------------------- */

enum xfa_style { XFA_STYLE_NONE, XFA_STYLE_TITLE, XFA_STYLE_GAIN, XFA_STYLE_WARNING };

/* What begins and ends a style on the terminal; "" where there are no colours. */
const char *xfa_style(const struct xfa_view *view, enum xfa_style style);

/* Behind an empty line, as words. */
void xfa_write_title(const struct xfa_view *view, FILE *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A fact that is one of what went wrong; nothing when the text is NULL. */
void xfa_write_warning(const struct xfa_view *view, FILE *out, const char *name, const char *text);

/* ---- lines ----------------------------------------------------------------------------------- */

/* The bytes of the text that go on a line: up to the last break that fits, else as many as fit, at
 * least one character. breaks: as in struct xfa_column. */
size_t xfa_line_bytes(const char *text, const char *breaks, size_t width);

/* Words of text on lines of at most `width` columns: the first behind `lead`, the others indented
 * as far. A word that is longer is broken. */
void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width);
/* The same, put together as by printf. */
void xfa_write_words(FILE *out, int width, const char *lead, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with words that may have blanks in them. */
void xfa_write_list(FILE *out, const char *lead, char *const *words, size_t count, int width);

/* A fact of the run or the machine behind its name, "" for one more of the same; as
 * xfa_write_words(). */
void xfa_write_fact(FILE *out, int width, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with a text as it is; nothing when it is NULL. */
void xfa_write_field(FILE *out, int width, const char *name, const char *text);

static inline const char *xfa_plural(uint64_t count) /* of what takes an s */
{
    return count == 1 ? "" : "s";
}

/* The line about rows that the view does not show; nothing when there are none. */
void xfa_write_hidden(FILE *out, size_t hidden);

/* How many of `count` facts of a kind are shown: some, unless all rows are asked for. */
static inline size_t xfa_shown_facts(const struct xfa_view *view, size_t count, size_t some)
{
    return view->top && count > some ? some : count;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct xfa_column {
    const char *name;
    const char *breaks; /* characters after which its texts may be broken into lines, the best one
                           first; NULL: never */
    int flags;          /* SCOLS_FL_... */
};

#define XFA_SITE_BREAKS " _:/.-," /* a blank rather than the others */

/* NULL when there is no memory for it. */
struct libscols_table *xfa_text_table(const struct xfa_column *columns, size_t count, FILE *out);

/*
 * Prints and frees the table, which may be NULL; one without lines is not printed. Where it is
 * wider than `width`, texts are broken into lines: those of the first column at first, in the end
 * between any two characters.
 */
void xfa_text_table_print(struct libscols_table *table, const struct xfa_column *columns, int width,
                          FILE *out);

/* A cell with text that others wrote. */
void xfa_set_cell(struct libscols_line *line, size_t column, const char *text);

#endif
