/*
 * How much later work begins that waits for an event of another GPU than it would behind work of
 * its own stream: empty kernels on two GPUs in turn, each behind the other GPU's last one, beside
 * as many in one stream. All is queued behind the gate.
 */
#include <stdio.h>

#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/timed.h"
#include "probe/progress.h"

enum { ROUNDS = 16, SINK_BYTES = 16 };

struct side {
    struct xfp_device *device;
    xcu_deviceptr sink;
    xcu_event done;
};

struct across {
    struct side sides[2]; /* the first has the gate */
    bool in_turn;         /* on both; else on the first */
};

static xcu_result launch(struct xfp_session *s, const struct side *side)
{
    xcu_result result = s->sys.cu->cuCtxSetCurrent(side->device->context);
    return result ? result
                  : xfp_launch_chase(&s->sys, side->device, side->device->stream, side->sink, 0,
                                     side->sink);
}

/* What follows on `to` waits for what `from` has. */
static xcu_result follow(struct xfp_session *s, const struct side *from, const struct side *to)
{
    const struct xfp_driver *cu = s->sys.cu;
    xcu_result result = cu->cuEventRecord(from->done, from->device->stream);
    if (!result)
        result = cu->cuCtxSetCurrent(to->device->context);
    return result ? result : cu->cuStreamWaitEvent(to->device->stream, from->done, 0);
}

static xcu_result queue_round(struct xfp_session *s, const struct across *across)
{
    const struct side *one = &across->sides[0], *other = &across->sides[1];
    xcu_result result = launch(s, one);
    if (!across->in_turn)
        return result ? result : launch(s, one);
    if (!result)
        result = follow(s, one, other);
    if (!result)
        result = launch(s, other);
    return result ? result : follow(s, other, one);
}

/* As xfp_queued wants it: the first kernel takes the stream from the gate. */
static xcu_result queue(struct xfp_session *s, void *state)
{
    const struct across *across = state;
    const struct xfp_device *d = across->sides[0].device;
    xcu_result result = launch(s, &across->sides[0]);
    if (!result)
        result = s->sys.cu->cuEventRecord(d->events[0], d->stream);
    for (int i = 0; i < ROUNDS && !result; i++)
        result = queue_round(s, across);
    return result ? result : s->sys.cu->cuEventRecord(d->events[1], d->stream);
}

static int time_rounds(struct xfp_session *s, struct across *across, bool in_turn, double *ns)
{
    struct xfp_device *d = across->sides[0].device;
    struct xfp_queued queued = {
        .device = d, .gated = true, .queue = queue, .state = across, .what = "waiting for a GPU"};
    int state;
    across->in_turn = in_turn;
    do
        state = xfp_run_queued(s, &queued);
    while (state > 0);
    return state ? -1 : xfp_elapsed(s, d->events[0], d->events[1], ns);
}

/* An xfp_go: 0 is a distance, too. */
static int measure(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    double in_turn, alone, later;
    if (time_rounds(s, state, true, &in_turn) || time_rounds(s, state, false, &alone))
        return -1;
    later = (in_turn - alone) / (2 * ROUNDS);
    xfp_samples_add(samples, &later, 1);
    return 0;
}

static int open_side(struct xfp_session *s, struct side *side)
{
    const unsigned int no_timing = 2;
    if (xfp_device_open_kernels(&s->sys, side->device))
        return -1;
    return xfp_check(&s->sys, s->sys.cu->cuMemAlloc(&side->sink, SINK_BYTES), "allocating") ||
                   xfp_check(&s->sys, s->sys.cu->cuEventCreate(&side->done, no_timing),
                             "cuEventCreate")
               ? -1
               : 0;
}

static void close_side(struct xfp_session *s, struct side *side)
{
    if (!side->device->context)
        return;
    s->sys.cu->cuCtxSetCurrent(side->device->context);
    if (side->done)
        s->sys.cu->cuEventDestroy(side->done);
    if (side->sink)
        s->sys.cu->cuMemFree(side->sink);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct across across = {.sides = {{.device = &s->sys.devices[bench->src.device]},
                                      {.device = &s->sys.devices[bench->dst.device]}}};
    struct xfp_sampling what = {.go = measure, .state = &across, .budget_ns = xfp_share_ns(s, 1)};
    static struct xfp_samples samples;
    int bad = open_side(s, &across.sides[1]) || open_side(s, &across.sides[0]) ? -1 : 0;

    xfp_progress(s, path->name, 0);
    samples.n = 0;
    if (!bad)
        bad = xfp_take_samples(s, &what, &samples);
    close_side(s, &across.sides[1]);
    close_side(s, &across.sides[0]);
    if (!bad) {
        struct xfp_stats stats = xfp_samples_stats(&samples, 0);
        bad = xfp_add_added(s, &stats, "%s", bench->name);
    }
    return bad;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count && xfp_kernels_built(&s->sys); i++)
        for (size_t j = i + 1; j < s->sys.device_count; j++) { /* both ways count */
            struct xfp_bench bench = {.family = family,
                                      .src = {XFT_MEM_DEVICE, s->sys.devices[i].ordinal, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[j].ordinal, -1}};

            snprintf(bench.name, sizeof(bench.name), "event/across/gpu%d-gpu%d", bench.src.device,
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_across = {
    .name = "across",
    .summary = "how much later work begins that waits for an event of another GPU",
    .names =
        {
            {"event/across/gpuN-gpuM",
             "how much later empty kernels begin that wait for an event of the other GPU, in turn, "
             "than behind one another in a stream (device)"},
        },
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_TWO_GPUS | XFP_NEED_KERNELS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.02,
    .enumerate = enumerate,
    .run = run,
};
