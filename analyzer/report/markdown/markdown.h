/*
 * The report for a pull request: GitHub's Markdown, at most XFA_MARKDOWN_MOST bytes of it.
 *
 * It is written in blocks. Where a block does not fit, it and all that follows are left out, and
 * the last line says so. Names of the program are in <code>, with every character that has a
 * meaning in Markdown as an entity: GitHub makes no mentions, issue numbers and links there.
 */
#ifndef XFA_MARKDOWN_H
#define XFA_MARKDOWN_H

#include "analyzer/report/format.h"

#define XFA_MARKDOWN_MOST 65535 /* GitHub: 65,536 characters */

struct xfa_markdown {
    FILE *out;
    size_t written;
    bool folded; /* within <details> */
    bool cut;    /* something did not fit, and nothing more is written */
    FILE *block; /* being put together; NULL: none */
    char *text;
    size_t bytes;
};

/* Begins a block, and returns its stream; ends it. */
FILE *xfa_markdown_begin(struct xfa_markdown *md);
void xfa_markdown_end(struct xfa_markdown *md);

/* Begins and ends a part that is unfolded at a click; title: not from the program. */
void xfa_markdown_fold(struct xfa_markdown *md, const char *title);
void xfa_markdown_unfold(struct xfa_markdown *md);
void xfa_markdown_close(struct xfa_markdown *md); /* after the last block */

void xfa_markdown_text(FILE *out, const char *text); /* escaped */
void xfa_markdown_code(FILE *out, const char *text,
                       size_t columns); /* as <code>, shortened to `columns` */

void xfa_markdown_findings(struct xfa_markdown *md, const struct xfa_report *report,
                           const struct xfa_view *view);
/* Writes a comparison instead of a report. */
void xfa_markdown_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                             FILE *out);

#endif
