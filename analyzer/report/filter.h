/*
 * A part of a report: what `analyze --site --kind --rank --phase` leave of it. It chooses
 * transfers, and with them the rows and findings that hold some; it changes no figure of the run as
 * a whole, nor what the run would save.
 *
 * Site and kind are told by a row; rank and phase by a transfer alone: where one of them is asked
 * for, an observer sums up the rows of the chosen transfers while the run is read.
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
    const char *site, *kind, *ranks, *phase; /* as they were given, borrowed; NULL: all */
    enum xfa_filter_kind_of kind_of;
    unsigned kind_number; /* a direction, a kind of memory, 1 = Async, or enum xfa_finding_id */
    struct xfa_rank_span spans[XFA_MOST_RANK_SPANS];
    size_t span_count;

    const struct xfa_analysis *analysis; /* being read: set before */
    struct xfa_rows chosen;              /* with ranks or phase: of the transfers that are chosen */
    signed char *phases;                 /* by number: 1 chosen, -1 not, 0 not looked at */
    size_t phase_count, phase_capacity;

    /* Once settled. */
    struct xfa_figures *figures; /* of the rows, of chosen transfers; NULL: those of the analysis */
    bool *rows, *findings;       /* shown? */
    size_t rows_shown, findings_shown;
    char *nothing; /* one line: nothing is shown, and what there is; NULL: something is */
};

/* Both 0, or -1 with one line in error when the value is none. Whether a kind is in the run is not
 * asked. */
int xfa_filter_kind(struct xfa_filter *filter, const char *word, char *error, size_t error_bytes);
int xfa_filter_ranks(struct xfa_filter *filter, const char *list, char *error, size_t error_bytes);

bool xfa_filter_any(const struct xfa_filter *filter);
/* Does it take an observer? */
bool xfa_filter_observes(const struct xfa_filter *filter);
struct xfa_observer xfa_filter_observer(struct xfa_filter *filter); /* its self is the filter */

/* The parts of it. */
bool xfa_filter_site(const struct xfa_filter *filter, const struct xfa_site *site);
bool xfa_filter_row(const struct xfa_filter *filter, const struct xfa_row *row);
bool xfa_filter_rank(const struct xfa_filter *filter, const struct xfa_rank *rank);
bool xfa_filter_phase(const struct xfa_filter *filter, const struct xfa_phase *phase);
/* While the run is read: of its rank and in its phase. */
bool xfa_filter_transfer(struct xfa_filter *filter, const struct xfa_event *event);
/* Once settled. */
bool xfa_filter_finding_site(const struct xfa_filter *filter, const struct xfa_finding_site *site);

/* The run was read, and its findings found: says what is shown. findings: NULL = none were looked
 * for. */
void xfa_filter_finish(struct xfa_filter *filter, const struct xfa_findings *findings);
void xfa_filter_free(struct xfa_filter *filter);

char *xfa_filter_text(const struct xfa_filter *filter); /* "--site a --kind H2D", for free() */

/* Of the words the nearest to one, by edit distance, in a list, for free(): "pinned, pageable". */
char *xfa_nearest(const char *word, const char *const *words, size_t count, size_t most);

#endif
