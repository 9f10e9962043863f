/*
 * Statistics of repeated measurements.
 */
#ifndef XFP_STATS_H
#define XFP_STATS_H

#include <stddef.h>

/* Fewer samples than this have no 95 % interval of the median: 2 * 0.5^5 = 6.3 %. */
#define XFP_FEWEST_SAMPLES 6

struct xfp_stats {
    size_t n;
    double median, min, max;
    double ci_low, ci_high; /* 95 % confidence interval of the median by order statistics (no
                               assumption on the distribution); min to max below 6 samples */
};

/* Sorts samples in place. n = 0 gives zeros. */
struct xfp_stats xfp_stats_of(double *samples, size_t n);

/* Half the interval's width, relative to the median. */
double xfp_stats_spread(const struct xfp_stats *stats);

/* Rank (from 0) of the interval's lower end among n sorted samples; the upper is n - 1 - rank. */
size_t xfp_stats_ci_rank(size_t n);

#endif
