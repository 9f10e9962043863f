#include "probe/measure/budget.h"

#include <time.h>

#include "probe/measure/stats.h"

#define MOST_NS 400000000u
#define MOST_QUICK_NS 60000000u
#define PAPER_NS 2000000000u /* two forms of a copy, a second each */

uint64_t xfp_wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A fifth is reserved for filling, verifying and allocating. */
static uint64_t part_of(const struct xfp_session *s, uint64_t left, size_t parts)
{
    uint64_t most = s->options->quick ? MOST_QUICK_NS : MOST_NS;

    left = left / 5 * 4 / (parts ? parts : 1);
    return left < most ? left : most;
}

uint64_t xfp_slice_ns(const struct xfp_session *s)
{
    uint64_t until = xfp_wall_ns() + s->reserved_ns;
    uint64_t left = s->deadline_ns > until ? s->deadline_ns - until : 0;
    size_t points = s->points_planned > s->points_done ? s->points_planned - s->points_done : 1;

    return s->options->paper ? PAPER_NS : part_of(s, left, points);
}

uint64_t xfp_share_ns(const struct xfp_session *s, size_t left)
{
    uint64_t now = xfp_wall_ns();

    return part_of(s, s->bench_deadline_ns > now ? s->bench_deadline_ns - now : 0, left);
}

bool xfp_has_time_for(const struct xfp_session *s, double each_ns)
{
    uint64_t until = xfp_wall_ns() + s->reserved_ns;
    uint64_t left = s->give_up_ns > until ? s->give_up_ns - until : 0;

    return each_ns * (XFP_FEWEST_SAMPLES + 1) <= (double)left / 4;
}
