#include "repeat.h"

#include "stats.h"

enum { MOST_SAMPLES = 256, MOST_SPOILED = 20 };

int xfp_repeat(struct xfp_session *s, xfp_go go, void *what, uint64_t slice_ns,
               struct xfp_point *point)
{
    double samples[MOST_SAMPLES], ns = 0;
    uint64_t until;
    size_t n = 0;
    int spoiled = 0;
    struct xfp_stats stats;

    point->n = 0;
    if (go(s, what, &ns))
        return -1;
    until = xfp_wall_ns() + slice_ns;
    while (!xfp_enough(s, samples, n, until) && n < MOST_SAMPLES && !xfp_interrupted()) {
        if (go(s, what, &ns))
            return -1;
        if (ns > 0)
            samples[n++] = ns;
        else if (++spoiled == MOST_SPOILED)
            return 0;
    }
    if (n < XFP_FEWEST_SAMPLES)
        return 0;
    stats = xfp_stats_of(samples, n);
    point->n = (uint32_t)n;
    point->median_ns = stats.median;
    point->min_ns = stats.min;
    point->max_ns = stats.max;
    point->ci_low_ns = stats.ci_low;
    point->ci_high_ns = stats.ci_high;
    return 0;
}
