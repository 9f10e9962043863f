#include "probe/measure/sample.h"

#include <string.h>

#include "probe/measure/budget.h"

enum {
    MOST_SAMPLES = 1024,
    ENOUGH_SAMPLES = 20, /* before the interval's width may end the sampling */
    MOST_SPOILED = 20,
};
#define WANTED_SPREAD 0.01

void xfp_samples_add(struct xfp_samples *samples, const double *values, size_t count)
{
    size_t at = samples->n++ % XFP_SAMPLE_ROOM;

    for (size_t v = 0; v < count; v++)
        samples->of[v][at] = values[v];
}

static size_t held(const struct xfp_samples *samples)
{
    return samples->n < XFP_SAMPLE_ROOM ? samples->n : XFP_SAMPLE_ROOM;
}

struct xfp_stats xfp_samples_stats(struct xfp_samples *samples, size_t figure)
{
    if (samples->n < XFP_FEWEST_SAMPLES)
        return (struct xfp_stats){0};
    return xfp_stats_of(samples->of[figure], held(samples));
}

static bool has_virtual_clock(const struct xfp_session *s)
{
    return s->sys.cu && s->sys.cu->simulated_now_ns;
}

/* Whether the first figure's interval is narrow enough. Sorts its samples, whose order does not
 * matter. */
static bool narrow(const struct xfp_session *s, struct xfp_samples *samples)
{
    size_t n = samples->n;
    struct xfp_stats stats;

    if (n < ENOUGH_SAMPLES && !has_virtual_clock(s))
        return false;
    stats = xfp_stats_of(samples->of[0], n);
    /* a virtual clock is exact: more samples add nothing */
    return xfp_stats_spread(&stats) <= (n < ENOUGH_SAMPLES ? 0 : WANTED_SPREAD);
}

static bool enough(const struct xfp_session *s, const struct xfp_sampling *what,
                   struct xfp_samples *samples, size_t gone, uint64_t until_ns)
{
    if (what->goes)
        return gone >= what->goes;
    if (samples->n < XFP_FEWEST_SAMPLES)
        return false;
    if (what->whole_budget)
        return xfp_wall_ns() >= until_ns;
    return samples->n >= MOST_SAMPLES || xfp_wall_ns() >= until_ns || narrow(s, samples);
}

int xfp_take_samples(struct xfp_session *s, const struct xfp_sampling *what,
                     struct xfp_samples *samples)
{
    uint64_t until;
    int spoiled = 0;

    samples->n = 0;
    if (what->go(s, what->state, samples)) /* warms up */
        return -1;
    samples->n = 0;
    until = xfp_wall_ns() + what->budget_ns;
    for (size_t gone = 0; !xfp_interrupted() && !enough(s, what, samples, gone, until); gone++) {
        size_t before = samples->n;

        if (what->go(s, what->state, samples))
            return -1;
        if (samples->n == before && ++spoiled == MOST_SPOILED)
            break;
    }
    return 0;
}

struct single {
    xfp_once *once;
    void *state;
    size_t count;
    double values[XFP_MOST_VALUES];
};

static int go_once(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    struct single *o = state;

    if (o->once(s, o->state, o->values))
        return -1;
    if (o->values[0] > 0)
        xfp_samples_add(samples, o->values, o->count);
    return 0;
}

int xfp_sample(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_stats *stats, size_t values)
{
    struct single one = {.once = once, .state = state, .count = values};
    struct xfp_sampling what = {.go = go_once, .state = &one, .budget_ns = budget_ns};
    struct xfp_samples samples;

    memset(stats, 0, values * sizeof(*stats));
    if (xfp_take_samples(s, &what, &samples))
        return -1;
    for (size_t v = 0; v < values; v++)
        stats[v] = xfp_samples_stats(&samples, v);
    return 0;
}

int xfp_repeat(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_point *point)
{
    struct xfp_stats stats;
    int bad = xfp_sample(s, once, state, budget_ns, &stats, 1);

    if (!bad)
        xfp_set_point(point, &stats);
    return bad;
}

void xfp_set_point(struct xfp_point *point, const struct xfp_stats *stats)
{
    point->n = stats->median > 0 ? (uint32_t)stats->n : 0;
    point->median_ns = stats->median;
    point->min_ns = stats->min;
    point->max_ns = stats->max;
    point->ci_low_ns = stats->ci_low;
    point->ci_high_ns = stats->ci_high;
}
