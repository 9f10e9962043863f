/*
 * Before and after: recorded runs of a program held against others of it. What changed in the run
 * and at each call site, whether that is more than noise, and whether the advice paid. Data: no
 * text, no file; reports show it (analyzer/report/, docs/analyze.md).
 *
 * Noise: with repetitions by a test of the runs, else by bounds (statistics.h). What is said of one
 * run (findings, what they would save) is said of the middle one of its side (side.h).
 *
 * Advice: a finding of the runs before was followed when the runs after have none of its kind at
 * its sites any more, or one that is no advice. What was predicted is the best set's saving if all
 * of that set were followed; of one finding alone, its own; of some, those of their parts. Achieved
 * is the difference of the runs' spans, and of the phases (NVTX) that both have.
 */
#ifndef XFA_COMPARE_RUNS_H
#define XFA_COMPARE_RUNS_H

#include "analyzer/compare/side.h"

struct xfa_compared_row {
    const struct xfa_side_row *before, *after; /* NULL: there is none; not both */
    struct xfa_change time;                    /* ns; of a row of one side not known */
    unsigned moved;                            /* enum xfa_moved, of rows that both have */
};

struct xfa_compared_phase {
    const char *name;
    struct xfa_change time;
};

enum xfa_stands { XFA_GONE, XFA_STAYS, XFA_IDLE_NOW, XFA_NEW };

struct xfa_compared_finding {
    const struct xfa_snapshot_finding *before, *after; /* NULL: there is none; not both */
    enum xfa_stands stands;
    bool followed; /* it was advice, and is none any more */
};

enum xfa_predicted {
    XFA_PREDICTED_NOTHING, /* nothing that was advised was followed */
    XFA_PREDICTED_SET,
    XFA_PREDICTED_ONE,     /* one finding alone */
    XFA_PREDICTED_PARTS,   /* of the set: what each added to those before it */
    XFA_PREDICTED_UNKNOWN, /* what the followed ones save is not known */
};

enum xfa_paid {
    XFA_PAID_UNKNOWN,
    XFA_PAID_WITHIN, /* low to high of what was predicted */
    XFA_PAID_LESS,   /* achieved less than low */
    XFA_PAID_MORE,   /* achieved more than high */
    XFA_PAID_UNSURE, /* outside, but by no more than noise */
};

struct xfa_payoff {
    const char *phase;           /* NULL: the run's span */
    struct xfw_saving predicted; /* ns; NAN: not known */
    struct xfa_change time;      /* achieved: -shift */
    enum xfa_paid paid;
};

struct xfa_comparison {
    struct xfa_side before, after;
    bool repeated;          /* there are runs enough for a test: what is known of noise is known */
    bool without_recording; /* SPAN and phases are without what recording cost */
    struct xfa_change measures[XFA_MEASURES];
    struct xfa_compared_phase *phases; /* outermost ones that both have */
    size_t phase_count;
    struct xfa_compared_row *rows; /* the largest change of time first; those of one side by their
                                      time */
    size_t row_count;
    struct xfa_compared_finding *findings; /* gone, then those that stay, then new ones */
    size_t finding_count;
    enum xfa_predicted predicted;
    struct xfa_payoff *payoffs; /* the run's first; none where nothing was followed */
    size_t payoff_count;
    char **warnings; /* a line each */
    size_t warning_count;
    double limit;             /* relative: so much slower fails; NAN: nobody asked */
    enum xfa_measure slowest; /* of those that fail the one that got slower most */
    bool failed;
};

/* Of 1 to XFA_COMPARED_RUNS runs on each side, which are borrowed. limit: NAN = none. */
struct xfa_comparison *xfa_compare(struct xfa_snapshot **before, size_t m,
                                   struct xfa_snapshot **after, size_t n, double limit);
void xfa_comparison_free(struct xfa_comparison *comparison);

/* A row's better known side: after, where there is one. */
static inline const struct xfa_snapshot_row *xfa_compared_of(const struct xfa_compared_row *row)
{
    return row->after ? row->after->row : row->before->row;
}

/* ---- parts: compare.c fills in the first, these the others ----------------------------------- */

/* findings, predicted, payoffs. */
void xfa_compare_advice(struct xfa_comparison *comparison);
/* warnings: what else differs, so that the runs can hardly be compared. */
void xfa_compare_warnings(struct xfa_comparison *comparison);

#endif
