#include "probe/schedule.h"

#include "probe/measure/budget.h"
#include "probe/measure/sizes.h"

/* A sweep of copies. Nine benchmarks of one GPU: at most 23 s, or 2 s when quick. */
#define BENCH_S 2.5
#define QUICK_BENCH_S 0.22
#define PAPER_POINT_S 3.0 /* two forms of a second each, and the rest */

static bool is_sweep(const struct xfp_bench *bench)
{
    return bench->family->budget_s <= 0;
}

static double budget_s(const struct xfp_session *s, const struct xfp_bench *bench)
{
    const struct xfp_family *family = bench->family;

    if (is_sweep(bench))
        return s->options->quick ? QUICK_BENCH_S : BENCH_S;
    return s->options->quick ? family->quick_budget_s : family->budget_s;
}

static size_t points_each(const struct xfp_session *s)
{
    uint64_t sizes[64];

    return xfp_sweep_sizes(s->options, sizes, 64);
}

/* A slow machine may need longer for the fewest samples, unless the user set the limit; on a
 * simulated machine the limit does not apply. */
static uint64_t grace_ns(const struct xfp_session *s, double usual)
{
    if (s->options->time_limit_s > 0)
        return 0;
    return s->sys.cu->simulated_now_ns ? UINT64_MAX - s->deadline_ns : (uint64_t)(usual * 2e9);
}

void xfp_schedule_start(struct xfp_session *s, const struct xfp_bench_list *list)
{
    size_t sizes = points_each(s);
    double usual = 0, own = 0, limit;

    for (size_t i = 0; i < list->count; i++) {
        double budget = budget_s(s, &list->items[i]);

        usual += budget;
        if (is_sweep(&list->items[i]))
            s->points_planned += sizes;
        else
            own += budget;
    }
    if (s->options->paper)
        usual = own + PAPER_POINT_S * (double)s->points_planned;
    limit = s->options->time_limit_s > 0 ? s->options->time_limit_s : usual;
    s->budget_scale = usual > 0 ? limit / usual : 1;
    s->reserved_ns = (uint64_t)(own * s->budget_scale * 1e9);
    s->started_ns = xfp_wall_ns();
    s->deadline_ns = s->started_ns + (uint64_t)(limit * 1e9);
    s->give_up_ns = s->deadline_ns + grace_ns(s, usual);
}

void xfp_schedule_begin(struct xfp_session *s, const struct xfp_bench_list *list, size_t at)
{
    const struct xfp_bench *bench = &list->items[at];
    uint64_t own = (uint64_t)(budget_s(s, bench) * s->budget_scale * 1e9);

    s->bench_at = at + 1;
    s->bench_count = list->count;
    if (is_sweep(bench))
        return;
    s->reserved_ns -= own < s->reserved_ns ? own : s->reserved_ns;
    s->bench_deadline_ns = xfp_wall_ns() + own;
    if (s->bench_deadline_ns > s->deadline_ns)
        s->bench_deadline_ns = s->deadline_ns;
}

void xfp_schedule_end(struct xfp_session *s, const struct xfp_bench_list *list, size_t at)
{
    size_t sweeps = 0;

    for (size_t i = 0; i <= at; i++)
        sweeps += is_sweep(&list->items[i]);
    s->points_done = sweeps * points_each(s);
}

bool xfp_schedule_over(const struct xfp_session *s)
{
    return s->bench_at > 1 && xfp_wall_ns() >= s->give_up_ns;
}
