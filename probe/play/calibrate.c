/*
 * The work of a played schedule, spinning kernels and copies between the staging buffers, and how
 * long it takes when it is queued: the time of many minus the time of few, so that submitting the
 * first and noticing the last do not count.
 */
#include "probe/play/stage.h"

#include "probe/measure/stats.h"

enum { FEW = 2, MANY = 10, ROUNDS = 5, SMALL = 64 << 10 };

#define SPIN_NS 20000u /* longer than submitting the next one takes */

xcu_result xfp_launch_spin(struct xfp_system *sys, const struct xfp_device *d, xcu_stream stream,
                           uint64_t ns, unsigned blocks)
{
    void *parameters[] = {&ns};

    return sys->cu->cuLaunchKernel(d->kernels[XFP_KERNEL_SPIN], blocks ? blocks : 1, 1, 1,
                                   blocks ? XFP_SPIN_THREADS : 1, 1, 1, 0, stream, parameters,
                                   NULL);
}

enum xfp_play_way xfp_way_of(int from, int to)
{
    return from < 0 ? XFP_WAY_IN : to < 0 ? XFP_WAY_OUT : XFP_WAY_PEER;
}

xcu_result xfp_copy_staging(const struct xfp_made_stage *made, int from, int to, uint64_t bytes,
                            xcu_stream stream)
{
    const struct xfp_driver *cu = made->sys->cu;
    const struct xfp_play_gpu *gpu = &made->gpus[from < 0 ? to : from];

    switch (xfp_way_of(from, to)) {
    case XFP_WAY_IN:
        return cu->cuMemcpyHtoDAsync(gpu->there.address, gpu->host.host, bytes, stream);
    case XFP_WAY_OUT:
        return cu->cuMemcpyDtoHAsync(gpu->host.host, gpu->there.address, bytes, stream);
    default:
        return cu->cuMemcpyPeerAsync(made->gpus[to].there.address, made->gpus[to].device->context,
                                     gpu->there.address, gpu->device->context, bytes, stream);
    }
}

/* ---- calibration ---------------------------------------------------------------------------- */

struct queued {
    struct xfp_made_stage *made;
    struct xfp_play_gpu *gpu;
    xcu_stream stream;
    unsigned blocks;
    int from, to;   /* of copies; equal: kernels */
    uint64_t bytes; /* of a copy */
};

static xcu_result queue_one(const struct queued *q)
{
    if (q->from == q->to)
        return xfp_launch_spin(q->made->sys, q->gpu->device, q->stream, SPIN_NS, q->blocks);
    return xfp_copy_staging(q->made, q->from, q->to, q->bytes, q->stream);
}

static xcu_result time_of(const struct queued *q, int count, double *ns)
{
    const struct xfp_driver *cu = q->made->sys->cu;
    uint64_t before = xfp_driver_now_ns(cu);
    xcu_result result = XCU_SUCCESS;

    for (int i = 0; i < count && !result; i++)
        result = queue_one(q);
    if (!result)
        result = cu->cuStreamSynchronize(q->stream);
    *ns = (double)(xfp_driver_now_ns(cu) - before);
    return result;
}

/* ns of one in a queue. */
static int period(const struct queued *q, double *ns)
{
    struct xfp_system *sys = q->made->sys;
    double rounds[ROUNDS], few = 0, many = 0;
    xcu_result result;

    sys->cu->cuCtxSetCurrent(q->gpu->device->context);
    result = time_of(q, 1, &few); /* loads, sets up */
    for (int i = 0; i < ROUNDS && !result; i++) {
        result = time_of(q, FEW, &few);
        if (!result)
            result = time_of(q, MANY, &many);
        rounds[i] = (many - few) / (MANY - FEW);
    }
    if (result)
        return xfp_check(sys, result, "measuring what is to be played with");
    *ns = xfp_stats_of(rounds, ROUNDS).median;
    return 0;
}

static int calibrate_kernels(struct queued q)
{
    double ns = 0;

    if (period(&q, &ns))
        return -1;
    q.gpu->kernel_ns = ns > SPIN_NS ? ns - SPIN_NS : 0;
    q.blocks = q.gpu->blocks;
    if (period(&q, &ns))
        return -1;
    q.gpu->exclusive_ns = ns > SPIN_NS ? ns - SPIN_NS : 0;
    return 0;
}

static int calibrate_copies(struct queued q, int from, int to)
{
    struct xfp_pace *pace = &q.gpu->pace[xfp_way_of(from, to)];
    double small = 0, large = 0;

    q.from = from;
    q.to = to;
    q.bytes = SMALL;
    if (period(&q, &small))
        return -1;
    q.bytes = XFP_STAGING_BYTES;
    if (period(&q, &large))
        return -1;
    pace->ns_per_byte = (large - small) / (XFP_STAGING_BYTES - SMALL);
    pace->fixed_ns = small - SMALL * pace->ns_per_byte;
    if (pace->fixed_ns < 0)
        pace->fixed_ns = 0;
    return 0;
}

/* Another GPU that is used; -1: there is none. */
static int another(const struct xfp_made_stage *made, int ordinal)
{
    for (size_t i = 0; i < made->sys->device_count; i++)
        if ((int)i != ordinal && made->gpus[i].used)
            return (int)i;
    return -1;
}

int xfp_stage_calibrate(struct xfp_made_stage *made)
{
    int bad = 0;

    for (size_t i = 0; i < made->sys->device_count && !bad; i++) {
        struct xfp_play_gpu *gpu = &made->gpus[i];
        struct queued q = {.made = made, .gpu = gpu};
        int ordinal = (int)i, other = another(made, ordinal);

        if (!gpu->used)
            continue;
        q.stream = gpu->device->stream;
        bad = calibrate_kernels(q) || calibrate_copies(q, -1, ordinal) ||
              calibrate_copies(q, ordinal, -1) ||
              (other >= 0 && calibrate_copies(q, ordinal, other));
    }
    return bad ? -1 : 0;
}
