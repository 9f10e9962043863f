/*
 * The cost of calls that move no data: synchronisation, events, launches. Host clock around CALLS
 * calls, divided by their number.
 */
#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"

#include <stdio.h>

enum { CALLS = 32, SINK_BYTES = 16 };

struct sync_go {
    struct xfp_device *device;
    xcu_deviceptr sink;
    xcu_result (*call)(struct xfp_session *s, const struct sync_go *go);
    xcu_result (*after)(struct xfp_session *s, const struct sync_go *go); /* untimed */
};

static xcu_result sync_stream(struct xfp_session *s, const struct sync_go *go)
{
    return s->sys.cu->cuStreamSynchronize(go->device->stream);
}

static xcu_result sync_context(struct xfp_session *s, const struct sync_go *go)
{
    return s->sys.cu->cuCtxSynchronize();
}

static xcu_result sync_event(struct xfp_session *s, const struct sync_go *go)
{
    return s->sys.cu->cuEventSynchronize(go->device->events[0]);
}

static xcu_result record_event(struct xfp_session *s, const struct sync_go *go)
{
    return s->sys.cu->cuEventRecord(go->device->events[0], go->device->stream);
}

static xcu_result wait_event(struct xfp_session *s, const struct sync_go *go)
{
    return s->sys.cu->cuStreamWaitEvent(go->device->stream, go->device->events[0], 0);
}

/* A kernel that ends at once: a chase of 0 steps. */
static xcu_result launch(struct xfp_session *s, const struct sync_go *go)
{
    return xfp_launch_chase(&s->sys, go->device, go->device->stream, go->sink, 0, go->sink);
}

static xcu_result launch_and_wait(struct xfp_session *s, const struct sync_go *go)
{
    xcu_result result = launch(s, go);

    return result ? result : sync_stream(s, go);
}

static const struct {
    const char *name;
    bool kernel;
    xcu_result (*call)(struct xfp_session *s, const struct sync_go *go);
} calls[] = {
    {"sync/stream", false, sync_stream},
    {"sync/event", false, sync_event},
    {"sync/context", false, sync_context},
    {"event/record", false, record_event},
    {"event/wait", false, wait_event},
    {"launch/kernel", true, launch},
    {"launch/kernel-and-sync", true, launch_and_wait},
};
enum { KINDS = sizeof(calls) / sizeof(calls[0]) };

static int once(struct xfp_session *s, void *state, double *ns)
{
    const struct sync_go *go = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu), after;
    xcu_result result = XCU_SUCCESS;

    for (int i = 0; i < CALLS && !result; i++)
        result = go->call(s, go);
    after = xfp_driver_now_ns(s->sys.cu);
    if (!result)
        result = s->sys.cu->cuStreamSynchronize(go->device->stream);
    *ns = (double)(after - before) / CALLS;
    return xfp_check(&s->sys, result, "calling");
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int k = 0; k < KINDS; k++) {
            struct xfp_bench bench = {.family = family,
                                      .variant = k,
                                      .src = {XFT_MEM_UNKNOWN, -1, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};

            if ((calls[k].kernel && !xfp_kernels_built(&s->sys)) ||
                (calls[k].call == sync_event && !s->sys.cu->cuEventSynchronize))
                continue;
            snprintf(bench.name, sizeof(bench.name), "%s/gpu%d", calls[k].name, bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct sync_go go = {.device = &s->sys.devices[bench->dst.device],
                         .call = calls[bench->variant].call};
    bool kernel = calls[bench->variant].kernel;
    struct xfp_stats stats = {0};
    int bad =
        kernel ? xfp_device_open_kernels(&s->sys, go.device) : xfp_device_open(&s->sys, go.device);

    if (!bad && kernel)
        bad = xfp_check(&s->sys, s->sys.cu->cuMemAlloc(&go.sink, SINK_BYTES), "allocating");
    if (!bad) /* the event that is waited for has passed */
        bad = xfp_check(&s->sys, record_event(s, &go), "recording an event") ||
              xfp_check(&s->sys, sync_stream(s, &go), "synchronising");
    xfp_progress(s, path->name, 0);
    if (!bad)
        bad = xfp_sample(s, once, &go, xfp_share_ns(s, 1), &stats, 1);
    if (go.sink)
        s->sys.cu->cuMemFree(go.sink);
    return xfp_add_scalar(s, &stats, "%s", path->name) || bad ? -1 : 0;
}

const struct xfp_family xfp_family_sync = {
    .name = "sync",
    .summary = "calls that move nothing: synchronisation, events, launches",
    .names =
        {
            {"sync/{stream,event,context}/gpuN",
             "synchronising with a stream, an event, a context that has nothing left to do"},
            {"event/{record,wait}/gpuN", "recording an event, making a stream wait for one"},
            {"launch/kernel/gpuN", "launching an empty kernel"},
            {"launch/kernel-and-sync/gpuN", "launching an empty kernel and waiting for its end"},
        },
    .part = XFP_PART_SCALARS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.02,
    .enumerate = enumerate,
    .run = run,
};
