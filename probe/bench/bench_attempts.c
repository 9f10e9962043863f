/*
 * How often an engine looks whether work may begin that waits for another engine or stream. A copy
 * or kernel waits for the gate, which opens at another time of each round: the wait for it ends as
 * much later, at most, as two attempts lie apart.
 */
#include <stdio.h>
#include <stdlib.h>

#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/progress.h"

enum { ROUNDS = 64, BYTES = 64, NON_BLOCKING = 1 };
#define LONGEST_NS 40000u /* that the gate stays closed behind the submission */
#define TAIL 0.05         /* of the rounds at either end: outliers */

enum way { TO_HOST, TO_DEVICE, KERNEL, WAYS };
static const char *const words[WAYS] = {"d2h", "h2d", "kernel"};

struct attempts_go {
    struct xfp_device *device;
    enum way way;
    xcu_deviceptr memory;
    void *pinned;
    xcu_stream other;
    uint32_t random;
};

/* Behind the gate; a kernel in a stream of its own, which waits for an event. */
static xcu_result queue(struct xfp_session *s, const struct attempts_go *go)
{
    const struct xfp_driver *cu = s->sys.cu;
    const struct xfp_device *d = go->device;
    xcu_result result;

    if (go->way == TO_HOST)
        return cu->cuMemcpyDtoHAsync(go->pinned, go->memory, BYTES, d->stream);
    if (go->way == TO_DEVICE)
        return cu->cuMemcpyHtoDAsync(go->memory, go->pinned, BYTES, d->stream);
    result = cu->cuEventRecord(d->events[0], d->stream);
    if (!result)
        result = cu->cuStreamWaitEvent(go->other, d->events[0], 0);
    return result ? result
                  : xfp_launch_chase(&s->sys, go->device, go->other, go->memory, 0, go->memory);
}

/* A virtual clock does not go on meanwhile. */
static uint64_t wait_until(const struct xfp_driver *cu, uint64_t ns)
{
    uint64_t now = xfp_driver_now_ns(cu);

    while (!cu->simulated_now_ns && now < ns)
        now = xfp_driver_now_ns(cu);
    return now;
}

/* From when the gate opens to the end of the wait. 1: the gate did not hold. */
static int once(struct xfp_session *s, struct attempts_go *go, double *ns)
{
    const struct xfp_driver *cu = s->sys.cu;
    struct xfp_device *d = go->device;
    xcu_stream waited = go->way == KERNEL ? go->other : d->stream;
    uint64_t opened;
    xcu_result queued, done;

    if (xfp_gate_close(&s->sys, d))
        return -1;
    queued = queue(s, go);
    go->random = go->random * 1664525u + 1013904223u;
    opened = wait_until(cu, xfp_driver_now_ns(cu) + go->random / 4096 % LONGEST_NS);
    xfp_gate_open(d);
    done = cu->cuStreamSynchronize(waited);
    *ns = (double)(xfp_driver_now_ns(cu) - opened);
    if (!done)
        done = cu->cuStreamSynchronize(d->stream);
    if (xfp_check(&s->sys, queued ? queued : done, "waiting for the gate"))
        return -1;
    return !xfp_gate_held(d);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* An xfp_go: the range of the rounds' times, which are spread evenly over it. */
static int go_rounds(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    const size_t tail = (size_t)(TAIL * ROUNDS);
    double ns[ROUNDS], range;

    for (size_t i = 0; i < ROUNDS; i++) {
        int spoiled = once(s, state, &ns[i]);

        if (spoiled)
            return spoiled < 0 ? -1 : 0;
    }
    qsort(ns, ROUNDS, sizeof(*ns), ascending);
    range = (ns[ROUNDS - 1 - tail] - ns[tail]) * ROUNDS / (double)(ROUNDS - 2 * tail);
    xfp_samples_add(samples, &range, 1);
    return 0;
}

static int prepare(struct xfp_session *s, struct attempts_go *go)
{
    const struct xfp_driver *cu = s->sys.cu;
    xcu_result result;

    if (xfp_device_open_kernels(&s->sys, go->device))
        return -1;
    result = cu->cuMemAlloc(&go->memory, BYTES);
    if (!result)
        result = cu->cuMemHostAlloc(&go->pinned, BYTES, 0);
    if (!result)
        result = cu->cuStreamCreate(&go->other, NON_BLOCKING);
    return xfp_check(&s->sys, result, "allocating");
}

static void clean_up(struct xfp_session *s, struct attempts_go *go)
{
    const struct xfp_driver *cu = s->sys.cu;

    if (go->other)
        cu->cuStreamDestroy(go->other);
    if (go->pinned)
        cu->cuMemFreeHost(go->pinned);
    if (go->memory)
        cu->cuMemFree(go->memory);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    static struct xfp_samples samples;
    struct attempts_go go = {
        .device = &s->sys.devices[bench->dst.device], .way = (enum way)bench->variant, .random = 1};
    struct xfp_sampling what = {.go = go_rounds, .state = &go, .budget_ns = xfp_share_ns(s, 1)};
    int bad = prepare(s, &go);

    xfp_progress(s, path->name, 0);
    samples.n = 0;
    if (!bad)
        bad = xfp_take_samples(s, &what, &samples);
    clean_up(s, &go);
    if (bad)
        return bad;
    struct xfp_stats stats = xfp_samples_stats(&samples, 0);
    return xfp_add_added(s, &stats, "%s", path->name);
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    if (!xfp_kernels_built(&s->sys))
        return;
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int way = 0; way < WAYS; way++) {
            struct xfp_bench bench = {.family = family,
                                      .variant = way,
                                      .src = {XFT_MEM_UNKNOWN, -1, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};

            snprintf(bench.name, sizeof(bench.name), "attempts/%s/gpu%d", words[way],
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_attempts = {
    .name = "attempts",
    .summary = "the time between two attempts to begin of work that waits for another engine or "
               "stream",
    .names =
        {
            {"attempts/{d2h,h2d}/gpuN", "the time between two attempts to begin of a copy that "
                                        "waits for a kernel (host)"},
            {"attempts/kernel/gpuN", "the same of a kernel that waits for one of another stream "
                                     "(host)"},
        },
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_KERNELS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.03,
    .enumerate = enumerate,
    .run = run,
};
