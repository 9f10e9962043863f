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
 * With fewer, noise is not known, and each run's own bounds are used (how far its figure may be
 * off, by its trace alone): a change counts when the bounds of all runs of one side are apart from
 * those of all runs of the other.
 *
 * Figures are ns, or other values that are not negative; a run whose figure is not known (NAN) is
 * left out.
 */
#ifndef XFA_STATISTICS_H
#define XFA_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#define XFA_COMPARED_RUNS 32  /* on each side */
#define XFA_CONFIDENCE 0.95   /* of an interval, at least */
#define XFA_LEAST_CHANGE 0.01 /* relative: a smaller change is within noise */
/* for many figures: as near to it as the number of runs allows */
#define XFA_MANY_CONFIDENCE 0.99

struct xfa_sample {
    double value, low, high; /* low, high: bounds; NAN: not known */
};

enum xfa_verdict {
    XFA_UNSURE, /* not known: a side has no figure, or no bounds */
    XFA_ALIKE,  /* no difference beyond noise */
    XFA_LESS,   /* after is less */
    XFA_MORE,
};

struct xfa_change {
    double before, after;    /* medians; NAN */
    double shift, low, high; /* after less before, and its interval; NAN */
    double confidence;       /* of the interval; NAN: it is one of bounds, not of repetitions */
    enum xfa_verdict verdict;
};

double xfa_median(const double *values, size_t count); /* NAN: count is 0 */

/*
 * The interval of at least `confidence` goes from the k-th smallest to the k-th largest of the m *
 * n differences: returns the largest such k, from 1 on, and the confidence that it has. 0: too few
 * runs.
 */
size_t xfa_shift_rank(size_t m, size_t n, double confidence, double *attained);

/* m and n: at most XFA_COMPARED_RUNS. many: this is one of many figures (XFA_MANY_CONFIDENCE). */
struct xfa_change xfa_change_of(const struct xfa_sample *before, size_t m,
                                const struct xfa_sample *after, size_t n, bool many);

/* shift / before; NAN = not known. */
double xfa_change_part(const struct xfa_change *change);

#endif
