/*
 * Managed memory migrating to the host by number of threads: one thread alone does not reach the
 * bandwidth of link and driver (Comm|Scope, section 4.5 and figure 10).
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/managed.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/device/team.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sizes.h"

#define MOST ((size_t)64 << 20)
enum { LEAST = 1 << 20 };

struct touching {
    struct xfp_managed memory;
    struct xfp_team *team;
    struct xfp_session *session;
};

static void touch_part(void *state, size_t index, size_t count)
{
    const struct touching *t = state;
    struct xfp_managed part = t->memory;
    size_t from, to;

    xfp_team_part(t->memory.bytes, index, count, &from, &to);
    part.address += from;
    xfp_managed_touch(&t->session->sys, &part, to - from);
}

static int once(struct xfp_session *s, void *state, double *ns)
{
    struct touching *t = state;
    uint64_t before;

    if (xfp_managed_move(&s->sys, &t->memory, t->memory.bytes, t->memory.device->ordinal))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    xfp_team_work(t->team, touch_part, t);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return 0;
}

static int measure(struct xfp_session *s, struct touching *t, size_t threads, size_t left,
                   struct xfp_stats *stats)
{
    int bad;

    t->team = xfp_team_start(&s->sys, threads, -1);
    if (!t->team)
        return -1;
    bad = xfp_sample(s, once, t, xfp_share_ns(s, left), stats, 1);
    xfp_team_end(t->team);
    return bad ? -1 : xfp_managed_verify(&s->sys, &t->memory, t->memory.bytes);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_device *d = &s->sys.devices[bench->src.device];
    struct touching t = {.session = s};
    struct xfp_rows rows = {0};
    size_t sizes[XFP_TEAM_SIZES], count = xfp_team_sizes(&s->sys, s->options->quick, sizes), most;
    int bad = xfp_device_open(&s->sys, d);

    most = xfp_coarse_most(s, MOST);
    if (!bad)
        bad = xfp_managed_make(&s->sys, d, xfp_managed_room(&s->sys, d, most, LEAST), &t.memory);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, path->name, t.memory.bytes);
        bad = measure(s, &t, sizes[i], count - i, &stats);
        if (!bad)
            xfp_add_row(&rows, sizes[i], &stats);
    }
    bad = xfp_add_table(s, &rows, bench->family->by, t.memory.bytes, "%s", path->name) || bad;
    xfp_managed_free(&s->sys, &t.memory);
    return bad ? -1 : 0;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    xfp_bench_add_managed(s, family, "demand-threads/managed/d2h", list);
}

const struct xfp_family xfp_family_demand_threads = {
    .name = "demand-threads",
    .summary = "managed memory of a device touched by the host, by number of threads",
    .names =
        {
            {"demand-threads/managed/d2h/gpuN",
             "that many threads of the host touch `bytes` of managed memory of the device"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_THREADS,
    .bytes = MOST,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MIGRATION,
    .from_bytes = LEAST,
    .method = XFP_DEMAND,
    .budget_s = 0.8,
    .quick_budget_s = 0.12,
    .enumerate = enumerate,
    .run = run,
};
