/*
 * A filter: the part of a report that `analyze --site --kind --rank --phase` show. It selects
 * transfers, and the rows and findings with such transfers; it changes neither the figures of the
 * whole run nor savings. What is found of calls that are no transfers is in a phase where its
 * remedy saves something there.
 *
 * Site and kind are properties of a row; rank and phase of a transfer. For these an observer sums
 * up the rows of the selected transfers while the run is read.
 */
#ifndef XFA_FILTER_H
#define XFA_FILTER_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/findings/finding.h"

#define XFA_MOST_RANK_SPANS 64

struct xfa_rank_span {
    uint32_t first, last;
};

/* What --kind names. */
enum xfa_filter_kind_of {
    XFA_FILTER_ANY,
    XFA_FILTER_DIRECTION,
    XFA_FILTER_MEMORY,
    XFA_FILTER_FORM,
    XFA_FILTER_FINDING
};

struct xfa_filter {
    const char *site, *kind, *ranks, *phase; /* values of the options, borrowed; NULL: all */
    enum xfa_filter_kind_of kind_of;
    unsigned kind_number; /* a direction, a kind of memory, 1 = Async, or enum xfa_finding_id */
    struct xfa_rank_span spans[XFA_MOST_RANK_SPANS];
    size_t span_count;

    const struct xfa_analysis *analysis; /* set before the run is read */
    struct xfa_rows chosen;              /* with ranks or phase: sums of the selected transfers */
    signed char *phases;                 /* by number: 1 selected, -1 not, 0 not known yet */
    size_t phase_count, phase_capacity;

    /* After xfa_filter_finish(). */
    struct xfa_figures *figures; /* by row, of selected transfers; NULL: those of the analysis */
    const struct xfw_whatif *whatif; /* of the findings, borrowed; NULL: not known */
    bool *rows, *findings;           /* is it shown? */
    size_t rows_shown, findings_shown;
    char *nothing; /* one line: why nothing is shown, and what would match; NULL: something is */
};

/* Both return 0, or -1 with one line in error when the value is invalid; it need not be in the
 * run. */
int xfa_filter_kind(struct xfa_filter *filter, const char *word, char *error, size_t error_bytes);
int xfa_filter_ranks(struct xfa_filter *filter, const char *list, char *error, size_t error_bytes);

bool xfa_filter_any(const struct xfa_filter *filter);
/* Does the filter need its observer? */
bool xfa_filter_observes(const struct xfa_filter *filter);
struct xfa_observer xfa_filter_observer(struct xfa_filter *filter); /* its self is the filter */

/* Does one option match? */
bool xfa_filter_site(const struct xfa_filter *filter, const struct xfa_site *site);
bool xfa_filter_row(const struct xfa_filter *filter, const struct xfa_row *row);
bool xfa_filter_rank(const struct xfa_filter *filter, const struct xfa_rank *rank);
bool xfa_filter_phase(const struct xfa_filter *filter, const struct xfa_phase *phase);
/* While the run is read: rank and phase match. */
bool xfa_filter_transfer(struct xfa_filter *filter, const struct xfa_event *event);
/* After xfa_filter_finish(). */
bool xfa_filter_finding_site(const struct xfa_filter *filter, const struct xfa_finding *finding,
                             const struct xfa_finding_site *site);

/* Decides what is shown, once the run is read and its findings are found. findings: NULL = none
 * were looked for. */
void xfa_filter_finish(struct xfa_filter *filter, const struct xfa_findings *findings);
void xfa_filter_free(struct xfa_filter *filter);

char *xfa_filter_text(const struct xfa_filter *filter); /* "--site a --kind H2D", for free() */

/* Of the words the nearest to one, by edit distance, in a list, for free(): "pinned, pageable". */
char *xfa_nearest(const char *word, const char *const *words, size_t count, size_t most);

#endif
