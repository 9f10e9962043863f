/*
 * Two groups of runs, before and after, and one figure of each run: by how much did it change, and
 * is that more than noise?
 *
 * With enough runs on both sides: the Hodges-Lehmann estimate of the shift, which is the median of
 * all differences of a run after and a run before, and its interval by the exact distribution of
 * the Mann-Whitney statistic (Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3rd
 * ed., section 4.2 and 4.3). It assumes no distribution, and is exact for a handful of runs. For an
 * interval of 95 % there have to be four runs on each side, or three and five.
 *
 * With fewer, noise is not known. Then each run's own bounds stand in (what its figure may be off
 * by, as far as one trace tells): the change counts when no run's bounds of the one side meet those
 * of a run of the other.
 *
 * Figures are ns, or whatever is not negative; NAN = not known, and that run is left out.
 */
#ifndef XFA_STATISTICS_H
#define XFA_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#define XFA_COMPARED_RUNS 32  /* on each side */
#define XFA_CONFIDENCE 0.95   /* wanted of an interval */
#define XFA_LEAST_CHANGE 0.01 /* relative: less is no change worth a word */
#define XFA_MANY_CONFIDENCE                                                                        \
    0.99 /* where many figures are compared: as near to it as the number of                        \
            runs allows */

struct xfa_sample {
    double value, low, high; /* low, high NAN: how far it may be off is not known */
};

enum xfa_verdict {
    XFA_UNSURE, /* cannot be told: a side has no figure, or no bounds */
    XFA_ALIKE,  /* noise explains it, or there is no difference */
    XFA_LESS,   /* after is less */
    XFA_MORE,
};

struct xfa_change {
    double before, after;    /* medians; NAN */
    double shift, low, high; /* after less before, and its interval; NAN */
    double confidence;       /* of the interval; NAN: it is none of repetitions, but of bounds */
    enum xfa_verdict verdict;
};

double xfa_median(const double *values, size_t count); /* NAN: of none */

/*
 * Of the m * n differences in order, the interval of at least `confidence` goes from the k-th
 * smallest to the k-th largest: the largest such k, from 1 on, and what it really has. 0: so few
 * runs have none.
 */
size_t xfa_shift_rank(size_t m, size_t n, double confidence, double *attained);

/* At most XFA_COMPARED_RUNS on each side. many: of many figures this is one. */
struct xfa_change xfa_change_of(const struct xfa_sample *before, size_t m,
                                const struct xfa_sample *after, size_t n, bool many);

/* Shift as part of before; NAN. */
double xfa_change_part(const struct xfa_change *change);

#endif
