/*
 * The report: an analysis and its findings, written in one of the formats. The view says what is
 * shown, how much of it and in which order; it changes no figure and no finding.
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

/* Heads a report of a simulated GPU. */
#define XFA_SIMULATED_TEXT(gpu) gpu ": the figures show how xferscope works, not what a GPU does."
/* Heads one of a run in which the host's accesses were watched. */
#define XFA_WATCHED_TEXT                                                                           \
    "Recorded with --host-access: the program was slower, and so are the times; a usual run has "  \
    "its own."
/* Heads one of a run in which kernels were watched. */
#define XFA_VERIFIED_TEXT                                                                          \
    "Recorded with --verify: the program was much slower, and so are the times; a usual run has "  \
    "its own."

enum xfa_sort { XFA_SORT_LOST, XFA_SORT_BYTES, XFA_SORT_COUNT };

struct xfa_timeline;

struct xfa_report {
    const struct xfa_analysis *analysis;
    const struct xfa_findings *findings;
    const struct xfa_replayed *replayed; /* NULL: without --replay */
    const struct xfa_timeline *timeline; /* NULL: the format shows none */
};

struct xfa_view {
    enum xfa_sort sort;              /* of the rows of transfers */
    size_t top;                      /* rows shown, 0 = all */
    int width;                       /* columns of the terminal */
    const struct xfa_filter *filter; /* finished; NULL: all is shown */
    bool colour;                     /* write colours */
    bool brief;                      /* text: the first screen alone */
};

struct xfa_format {
    const char *name;
    void (*write)(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
    const struct xfa_per_transfer_format *per_transfer; /* NULL: it does not list transfers */
    const char *(*lacks)(
        void);     /* one line: why this build lacks the format; NULL, or returns NULL: it has it */
    bool timeline; /* it shows a timeline */
    bool shares;   /* it shows only the shares of time of the run as recorded */
    size_t rows;   /* default number of rows of transfers; 0: all */
    /* Writes a comparison instead of a report. NULL: the format has none. */
    void (*compare)(const struct xfa_comparison *comparison, const struct xfa_view *view,
                    FILE *out);
};
#define XFA_FORMAT(name, help) extern const struct xfa_format xfa_format_##name;
#include "analyzer/report/formats.def"
#undef XFA_FORMAT
const struct xfa_format *xfa_format_find(const char *name);

/* ---- what the formats share ------------------------------------------------------------------ */

/* Numbers of the rows that the filter shows, in the view's order; the caller frees them. */
uint32_t *xfa_view_rows(const struct xfa_analysis *analysis, const struct xfa_view *view,
                        size_t *count);
/* The figures of a row's transfers that the filter shows. */
const struct xfa_figures *xfa_view_figures(const struct xfa_analysis *analysis,
                                           const struct xfa_view *view, uint32_t row);
/* How many of `count` rows are shown. */
size_t xfa_view_shown(const struct xfa_view *view, size_t count);

/* Does the filter show the i-th finding; this site of a finding that it shows? */
static inline bool xfa_view_finding(const struct xfa_view *view, size_t i)
{
    return !view->filter || view->filter->findings[i];
}
static inline bool xfa_view_site(const struct xfa_view *view, const struct xfa_finding *finding,
                                 const struct xfa_finding_site *site)
{
    return !view->filter || xfa_filter_finding_site(view->filter, finding, site);
}

/* "train/step/solver:solve": a domain stands before its name; longer paths lose their outer part.
 */
#define XFA_PHASE_TEXT_CHARS 400
void xfa_phase_text(const struct xfa_phases *phases, const struct xfa_phase *phase,
                    char text[XFA_PHASE_TEXT_CHARS]);

/* The path of a row's transfers, for the caller to free: "H2D pageable" in a run with one GPU, else
 * with the GPUs' numbers. */
char *xfa_path_text(const struct xfa_row_key *key, bool one);

/* The same of a finding's site: "D2H"; in a run with several GPUs with both places, as rows of one
 * call may differ in nothing else. NULL: calls that are no transfers. */
char *xfa_finding_site_path(const struct xfa_finding_site *site, const struct xfa_run *run);

#endif
