/* Sections of the text report, a file each, and what they share (text.c). */
#ifndef XFA_TEXT_H
#define XFA_TEXT_H

#include <libsmartcols.h>

#include "analyzer/report/facts.h"
#include "analyzer/report/format.h"

/* The first screen: what the run would save, and by what. */
void xfa_write_answer(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Of it, the first things to change, a few lines each. Returns what is not shown: of the best set,
 * and else. */
struct xfa_not_shown {
    size_t changes, findings;
};
struct xfa_not_shown xfa_write_first_findings(const struct xfa_report *report,
                                              const struct xfa_view *view, FILE *out);
#define XFA_BLOCK "   " /* on the first screen: before the lines of a finding but the first */
/* Facts of the section "The run": what the transfers took, and what the GPUs did. */
void xfa_write_times(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* The words of the sections before it, each explained once. */
void xfa_write_words_of(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_run(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_machine(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_transfers(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes nothing for a program without NVTX ranges. */
void xfa_write_phases(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes nothing when no managed memory was moved and that was recorded. */
void xfa_write_managed(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes nothing when there are no waits. */
void xfa_write_waits(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes nothing for one rank, and for processes without ranks of which none stands out. */
void xfa_write_ranks(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes nothing when there are no messages. */
void xfa_write_messages(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
void xfa_write_findings(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
/* Writes a comparison instead of a report. */
void xfa_write_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                          FILE *out);

/* ---- looks ----------------------------------------------------------------------------------- */

enum xfa_style { XFA_STYLE_NONE, XFA_STYLE_TITLE, XFA_STYLE_GAIN, XFA_STYLE_WARNING };

/* The sequence that begins a style on the terminal (NONE: ends it); "" without colours. */
const char *xfa_style(const struct xfa_view *view, enum xfa_style style);

/* Writes a paragraph in a style; takes the text. */
void xfa_write_styled(const struct xfa_view *view, enum xfa_style style, const char *lead,
                      char *text, FILE *out);
/* Writes an empty line and a title. */
void xfa_write_title(const struct xfa_view *view, FILE *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a fact in the style of warnings; nothing when the text is NULL. */
void xfa_write_warning(const struct xfa_view *view, FILE *out, const char *name, const char *text);

/* ---- lines ----------------------------------------------------------------------------------- */

/* The bytes of the text that go on a line: up to the last break that fits, else as many as fit, at
 * least one character. breaks: as in struct xfa_column. */
size_t xfa_line_bytes(const char *text, const char *breaks, size_t width);

/* Writes words on lines of at most `width` columns: the first line after `lead`, the others
 * indented as far. A longer word is broken. */
void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width);
/* The same, formatted as by printf. */
void xfa_write_words(FILE *out, int width, const char *lead, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with words that may contain spaces. */
void xfa_write_list(FILE *out, const char *lead, char *const *words, size_t count, int width);

/* Writes a fact after its name ("" for one more with the same name), as xfa_write_words(). */
void xfa_write_fact(FILE *out, int width, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with a plain text; nothing when it is NULL. */
void xfa_write_field(FILE *out, int width, const char *name, const char *text);

/* What is shown together, since each by itself would be more than is kept. */
struct xfa_folded {
    const char *what, *without, *more; /* "calls", "ranks", "rows" */
    uint64_t without_it, without_site; /* so many of them */
};
void xfa_write_folded(FILE *out, int width, const struct xfa_folded *folded);

static inline const char *xfa_plural(uint64_t count) /* the plural's s */
{
    return count == 1 ? "" : "s";
}

/* Writes how many rows the view does not show; nothing for 0. */
void xfa_write_hidden(FILE *out, size_t hidden);

/* How many of `count` facts of a kind are shown: at most `some`, unless --top 0. */
static inline size_t xfa_shown_facts(const struct xfa_view *view, size_t count, size_t some)
{
    return view->top && count > some ? some : count;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct xfa_column {
    const char *name;
    const char *breaks; /* characters after which its texts may be broken, the best one first; NULL:
                           not broken */
    int flags;          /* SCOLS_FL_... */
};

#define XFA_SITE_BREAKS " _:/.-," /* a space is the best */

/* NULL when there is no memory for it. */
struct libscols_table *xfa_text_table(const struct xfa_column *columns, size_t count, FILE *out);

/*
 * Prints and frees the table, which may be NULL; a table without lines is not printed. In a table
 * wider than `width` texts are broken into lines: first those of the first column, at last between
 * any two characters.
 */
void xfa_text_table_print(struct libscols_table *table, const struct xfa_column *columns, int width,
                          FILE *out);

/* Sets a cell to a text of the program, made safe to print. */
void xfa_set_cell(struct libscols_line *line, size_t column, const char *text);

#endif
