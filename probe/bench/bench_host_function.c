/*
 * Functions of the host that a stream calls (cudaLaunchHostFunc): how long after the work before it
 * one is called, and for how long one that does nothing holds its stream up. All is queued behind
 * the gate, so that the stream is busy when the functions are submitted.
 */
#include <stdio.h>

#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/timed.h"
#include "probe/progress.h"

enum { QUEUED = 8 };

enum way { CALL, HOLD, HOLD_QUEUED, WAYS };
static const char *const words[WAYS] = {"call", "hold", "hold-queued"};

struct function_go {
    struct xfp_device *device;
    unsigned count;
    const struct xfp_driver *cu; /* the next two: for the function, on the driver's thread */
    volatile uint64_t called_ns;
};

static void function(void *state)
{
    struct function_go *go = state;

    go->called_ns = xfp_driver_now_ns(go->cu);
}

static xcu_result queue(struct xfp_session *s, void *state, xcu_stream stream)
{
    struct function_go *go = state;
    xcu_result result = XCU_SUCCESS;

    for (unsigned i = 0; i < go->count && !result; i++)
        result = s->sys.cu->cuLaunchHostFunc(stream, function, go);
    return result;
}

/* From when the gate opens; it takes a microsecond or two to find out. A gate that did not hold
 * makes no sample. */
static int once_call(struct xfp_session *s, void *state, double *ns)
{
    struct function_go *go = state;
    struct xfp_device *d = go->device;
    uint64_t opened;
    xcu_result queued, done;

    if (xfp_gate_close(&s->sys, d))
        return -1;
    queued = queue(s, go, d->stream);
    opened = xfp_driver_now_ns(go->cu);
    xfp_gate_open(d);
    done = s->sys.cu->cuStreamSynchronize(d->stream);
    *ns = xfp_gate_held(d) ? (double)(int64_t)(go->called_ns - opened) : 0;
    return xfp_check(&s->sys, queued ? queued : done, "calling a function of the host");
}

static int once_hold(struct xfp_session *s, void *state, double *ns)
{
    struct function_go *go = state;
    struct xfp_timed t = {.device = go->device, .first = queue, .state = go, .gated = true};
    int bad = xfp_once_timed(s, &t, ns);

    *ns /= go->count;
    return bad;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct function_go go = {.device = &s->sys.devices[bench->dst.device],
                             .count = bench->variant == HOLD_QUEUED ? QUEUED : 1,
                             .cu = s->sys.cu};
    struct xfp_stats stats = {0};
    int bad = xfp_device_open_kernels(&s->sys, go.device);

    xfp_progress(s, path->name, 0);
    if (!bad)
        bad = xfp_sample(s, bench->variant == CALL ? once_call : once_hold, &go, xfp_share_ns(s, 1),
                         &stats, 1);
    return xfp_add_scalar(s, &stats, "%s", path->name) || bad ? -1 : 0;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    if (!xfp_kernels_built(&s->sys) || !s->sys.cu->cuLaunchHostFunc)
        return;
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int way = 0; way < WAYS; way++) {
            struct xfp_bench bench = {.family = family,
                                      .variant = way,
                                      .src = {XFT_MEM_UNKNOWN, -1, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};

            snprintf(bench.name, sizeof(bench.name), "host-function/%s/gpu%d", words[way],
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_host_function = {
    .name = "host-function",
    .summary = "functions of the host that a stream calls: until one is called, and until the "
               "stream goes on",
    .names =
        {
            {"host-function/call/gpuN", "from the end of the work before it in its stream to the "
                                        "call of a function of the host (host)"},
            {"host-function/hold/gpuN", "the time for which a function of the host that does "
                                        "nothing holds its stream up (device)"},
            {"host-function/hold-queued/gpuN", "the same for each of 8 functions, one behind the "
                                               "other (device)"},
        },
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_KERNELS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.02,
    .enumerate = enumerate,
    .run = run,
};
