/*
 * Before and after: recorded runs of a program compared with others of it. What changed in the run
 * and at each call site, whether that is more than noise, and whether the advice paid. Data:
 * analyzer/report/ shows it.
 *
 * Noise: with repetitions by a statistical test, else by bounds (statistics.h). Findings and
 * savings are those of the middle run of each side (side.h).
 *
 * Advice: a finding of the runs before was followed when the runs after have none of its kind at
 * its sites, or an idle one. Predicted is the saving of the best set if all of it was followed, of
 * one finding if one was, else the sum of what the followed ones add to the best set. Achieved is
 * the difference of the runs' spans, and of the phases (NVTX) that both sides have.
 */
#ifndef XFA_COMPARE_RUNS_H
#define XFA_COMPARE_RUNS_H

#include "analyzer/compare/side.h"

struct xfa_compared_row {
    const struct xfa_side_row *before, *after; /* NULL: none; never both */
    struct xfa_change time;                    /* ns; no interval for a row of one side */
    unsigned moved; /* bits of enum xfa_moved, of rows that both sides have */
};

struct xfa_compared_phase {
    const char *name;
    struct xfa_change time;
};

enum xfa_stands { XFA_GONE, XFA_STAYS, XFA_IDLE_NOW, XFA_NEW };

struct xfa_compared_finding {
    const struct xfa_snapshot_finding *before, *after; /* NULL: there is none; not both */
    enum xfa_stands stands;
    bool followed; /* it was advice, and is gone or idle */
};

enum xfa_predicted {
    XFA_PREDICTED_NOTHING, /* nothing that was advised was followed */
    XFA_PREDICTED_SET,
    XFA_PREDICTED_ONE,     /* one finding alone */
    XFA_PREDICTED_PARTS,   /* of the best set: what each added to those before it */
    XFA_PREDICTED_UNKNOWN, /* the savings of the followed ones are not known */
};

enum xfa_paid {
    XFA_PAID_UNKNOWN,
    XFA_PAID_WITHIN, /* between the predicted low and high */
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

/* A step of a plan that the runs after carried out. */
struct xfa_compared_step {
    unsigned number; /* in the plan, from 1 on */
    char *finding, *site;
    size_t sites;                             /* the first is named */
    struct xfw_saving predicted;              /* ns; NAN: not known */
    uint64_t asked, done, checked, different; /* in the middle run: of its calls, carried out */
    double applied_ns;                        /* saved by those, as the run's own trials say */
    double before_ns, after_ns; /* of the transfers at its sites; NAN: there are none */
};

struct xfa_comparison {
    struct xfa_side before, after;
    bool repeated;          /* there are enough runs for a statistical test of noise */
    bool without_recording; /* what recording cost is subtracted from SPAN and phases */
    struct xfa_change measures[XFA_MEASURES];
    struct xfa_compared_phase *phases; /* outermost phases that both sides have */
    size_t phase_count;
    struct xfa_compared_row *rows; /* largest change of time first; of one side: its time */
    size_t row_count;
    struct xfa_compared_finding *findings; /* gone, then those that stay, then new ones */
    size_t finding_count;
    enum xfa_predicted predicted;
    struct xfa_payoff *payoffs; /* of the run, then of phases; none where nothing was followed */
    size_t payoff_count;
    bool planned; /* there is a plan: steps are what was to be carried out of it */
    struct xfa_compared_step *steps;
    size_t step_count;
    char **warnings; /* a line each */
    size_t warning_count;
    double limit;             /* relative: more than so much slower fails; NAN: no limit */
    enum xfa_measure slowest; /* of the measures that fail, the one that got slower most */
    bool failed;
};

/* Compares m runs before with n after, 1 to XFA_COMPARED_RUNS each, which are borrowed. */
struct xfa_comparison *xfa_compare(struct xfa_snapshot **before, size_t m,
                                   struct xfa_snapshot **after, size_t n, double limit);
void xfa_comparison_free(struct xfa_comparison *comparison);

/* The row as it is after, else as it was before. */
static inline const struct xfa_snapshot_row *xfa_compared_of(const struct xfa_compared_row *row)
{
    return row->after ? row->after->row : row->before->row;
}

/* ---- parts: compare.c fills in the first, these the others ----------------------------------- */

/* Fills in findings, predicted and payoffs. */
void xfa_compare_advice(struct xfa_comparison *comparison);
/* Fills in warnings: other differences between the runs that may explain a change. */
void xfa_compare_warnings(struct xfa_comparison *comparison);

#endif
