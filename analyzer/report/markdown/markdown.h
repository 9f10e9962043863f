/*
 * The report for a pull request: GitHub's Markdown, at most XFA_MARKDOWN_MOST bytes of it.
 *
 * It is put together in blocks, each of them whole: where the next one does not fit, all that
 * follows is left out, and the last line says so. What others wrote stands in <code>, every
 * character that could mean something as an entity: there GitHub looks for no names, no numbers of
 * issues and no links either.
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

/* Between the two all goes to the block. */
FILE *xfa_markdown_begin(struct xfa_markdown *md);
void xfa_markdown_end(struct xfa_markdown *md);

/* Part of the report that is unfolded at a click; the title is text of ours. */
void xfa_markdown_fold(struct xfa_markdown *md, const char *title);
void xfa_markdown_unfold(struct xfa_markdown *md);
void xfa_markdown_close(struct xfa_markdown *md); /* the end of it all */

void xfa_markdown_text(FILE *out, const char *text);                 /* as it reads */
void xfa_markdown_code(FILE *out, const char *text, size_t columns); /* shortened to these */

void xfa_markdown_findings(struct xfa_markdown *md, const struct xfa_report *report,
                           const struct xfa_view *view);
void xfa_markdown_transfers(struct xfa_markdown *md, const struct xfa_report *report,
                            const struct xfa_view *view);
/* Not of the report: runs before and after. */
void xfa_markdown_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                             FILE *out);

#endif
