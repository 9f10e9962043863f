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

enum figure { CALL, HOLD, HOLD_QUEUED, FIGURES };
static const char *const words[FIGURES] = {"call", "hold", "hold-queued"};

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

/* From when the gate opens; it takes a microsecond or two to find out. 1: the gate did not hold. */
static int measure_call(struct xfp_session *s, struct function_go *go, double *ns)
{
    struct xfp_device *d = go->device;
    uint64_t opened;
    xcu_result queued, done;

    go->count = 1;
    if (xfp_gate_close(&s->sys, d))
        return -1;
    queued = queue(s, go, d->stream);
    opened = xfp_driver_now_ns(go->cu);
    xfp_gate_open(d);
    done = s->sys.cu->cuStreamSynchronize(d->stream);
    *ns = (double)(int64_t)(go->called_ns - opened);
    if (xfp_check(&s->sys, queued ? queued : done, "calling a function of the host"))
        return -1;
    return !xfp_gate_held(d);
}

static int measure_hold(struct xfp_session *s, struct function_go *go, unsigned count, double *ns)
{
    struct xfp_timed t = {.device = go->device, .first = queue, .state = go, .gated = true};
    int bad;

    go->count = count;
    bad = xfp_once_timed(s, &t, ns);
    *ns /= count;
    return bad;
}

/* An xfp_go: a simulated stream may call its functions at once, so that 0 is a time, too. */
static int measure_all(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    struct function_go *go = state;
    double ns[FIGURES] = {0};
    int spoiled = measure_call(s, go, &ns[CALL]);

    if (spoiled < 0 || measure_hold(s, go, 1, &ns[HOLD]) ||
        measure_hold(s, go, QUEUED, &ns[HOLD_QUEUED]))
        return -1;
    if (!spoiled)
        xfp_samples_add(samples, ns, FIGURES);
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct function_go go = {.device = &s->sys.devices[bench->dst.device], .cu = s->sys.cu};
    struct xfp_sampling what = {.go = measure_all, .state = &go, .budget_ns = xfp_share_ns(s, 1)};
    static struct xfp_samples samples;
    int bad = xfp_device_open_kernels(&s->sys, go.device);

    xfp_progress(s, path->name, 0);
    samples.n = 0;
    if (!bad)
        bad = xfp_take_samples(s, &what, &samples);
    for (int f = 0; f < FIGURES && !bad; f++) {
        struct xfp_stats stats = xfp_samples_stats(&samples, (size_t)f);

        bad = xfp_add_added(s, &stats, "host-function/%s/gpu%d", words[f], bench->dst.device);
    }
    return bad;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    if (!xfp_kernels_built(&s->sys) || !s->sys.cu->cuLaunchHostFunc)
        return;
    for (size_t d = 0; d < s->sys.device_count; d++) {
        struct xfp_bench bench = {.family = family,
                                  .src = {XFT_MEM_UNKNOWN, -1, -1},
                                  .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};

        snprintf(bench.name, sizeof(bench.name), "host-function/gpu%d", bench.dst.device);
        snprintf(bench.result, sizeof(bench.result), "host-function/%s/gpu%d", words[CALL],
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
    .bench_names = "host-function/gpuN",
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_KERNELS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.02,
    .enumerate = enumerate,
    .run = run,
};
