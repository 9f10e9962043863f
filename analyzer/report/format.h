/*
 * The report: an analysis and its findings, as one of the formats shows them. What is shown, how
 * much of it and in which order is the view's; it changes no figure and no finding.
 */
#ifndef XFA_FORMAT_H
#define XFA_FORMAT_H

#include <stdio.h>

#include "analyzer/compare/compare.h"
#include "analyzer/findings/finding.h"
#include "analyzer/remeasure/replay.h"
#include "analyzer/report/filter.h"
#include "analyzer/report/per_transfer.h"

#define XFA_REPORT_SCHEMA "xferscope-report"
#define XFA_REPORT_VERSION 1
#define XFA_COMPARISON_SCHEMA "xferscope-comparison"
#define XFA_COMPARISON_VERSION 1

enum xfa_sort { XFA_SORT_LOST, XFA_SORT_BYTES, XFA_SORT_COUNT };

struct xfa_timeline;

struct xfa_report {
    const struct xfa_analysis *analysis;
    const struct xfa_findings *findings;
    const struct xfa_replayed *replayed; /* NULL: nobody asked for it */
    const struct xfa_timeline *timeline; /* NULL: the format wants none */
};

struct xfa_view {
    enum xfa_sort sort;              /* of the rows of transfers */
    size_t top;                      /* rows shown, 0 = all */
    int width;                       /* columns of the terminal */
    const struct xfa_filter *filter; /* settled; NULL: all is shown */
    bool colour;                     /* it shows colours, and they are wanted */
};

struct xfa_format {
    const char *name;
    void (*write)(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
    const struct xfa_per_transfer_format *per_transfer; /* NULL: it does not list transfers */
    const char *(*lacks)(
        void);     /* one line: why this build has it not; NULL, returns NULL: it has */
    bool timeline; /* it shows one */
    bool shares;   /* it shows whose time it was: of a timeline the run as recorded */
    size_t rows;   /* of transfers, where nobody says how many; 0: all */
    /* Instead of the report: runs before and after. NULL: it does not compare. */
    void (*compare)(const struct xfa_comparison *comparison, const struct xfa_view *view,
                    FILE *out);
};
#define XFA_FORMAT(name, help) extern const struct xfa_format xfa_format_##name;
#include "analyzer/report/formats.def"
#undef XFA_FORMAT
const struct xfa_format *xfa_format_find(const char *name);

/* ---- what the formats share ------------------------------------------------------------------ */

/* Numbers of the rows that the filter leaves, in the view's order; the caller frees them. */
uint32_t *xfa_view_rows(const struct xfa_analysis *analysis, const struct xfa_view *view,
                        size_t *count);
/* Of a row: of those of its transfers that the filter leaves. */
const struct xfa_figures *xfa_view_figures(const struct xfa_analysis *analysis,
                                           const struct xfa_view *view, uint32_t row);
/* How many of `count` rows are shown. */
size_t xfa_view_shown(const struct xfa_view *view, size_t count);

/* Does the filter leave it? Findings by their place, sites of one that is left. */
static inline bool xfa_view_finding(const struct xfa_view *view, size_t i)
{
    return !view->filter || view->filter->findings[i];
}
static inline bool xfa_view_site(const struct xfa_view *view, const struct xfa_finding_site *site)
{
    return !view->filter || xfa_filter_finding_site(view->filter, site);
}

/* "train/step/solver:solve": a domain stands before its name; longer paths lose their outer part.
 */
#define XFA_PHASE_TEXT_CHARS 400
void xfa_phase_text(const struct xfa_phases *phases, const struct xfa_phase *phase,
                    char text[XFA_PHASE_TEXT_CHARS]);

/* What a row's transfers are, for the caller to free: where there is one GPU only, "H2D pageable"
 * says it all of its memory; else its number appears. */
char *xfa_path_text(const struct xfa_row_key *key, bool one);

/* The same of a finding's site: "D2H"; in a run of several GPUs, where rows of one call may differ
 * in nothing else, with both places. NULL: calls that are no transfers. */
char *xfa_finding_site_path(const struct xfa_finding_site *site, const struct xfa_run *run);

#endif
