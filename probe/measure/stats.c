#include "probe/measure/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The largest r with P(at most r of n samples lie below the median) <= 2.5 %: binomial(n, 1/2). */
size_t xfp_stats_ci_rank(size_t n)
{
    double log_all = (double)n * M_LN2, below = 0;
    size_t rank = 0;

    for (size_t k = 0; k <= n / 2; k++) {
        below += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
                     log_all);
        if (below > 0.025)
            break;
        rank = k;
    }
    return rank;
}

struct xfp_stats xfp_stats_of(double *samples, size_t n)
{
    struct xfp_stats s = {.n = n};
    size_t rank;

    if (!n)
        return s;
    qsort(samples, n, sizeof(*samples), ascending);
    rank = xfp_stats_ci_rank(n);
    s.min = samples[0];
    s.max = samples[n - 1];
    s.median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
    s.ci_low = samples[rank];
    s.ci_high = samples[n - 1 - rank];
    return s;
}

double xfp_stats_spread(const struct xfp_stats *stats)
{
    return stats->median > 0 ? (stats->ci_high - stats->ci_low) / 2 / stats->median : 0;
}
