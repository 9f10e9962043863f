#include "probe/measure/measure.h"

#include "probe/measure/sample.h"
#include "probe/measure/timed.h"

enum {
    LEAD_BYTES = 4096,
    BURST = 128, /* copies behind one gate when the gap is measured */
    MOST_BURSTS = 24,
};
#define BATCH_NS 2e6 /* device time queued behind one gate */

xcu_result xfp_submit_part(const struct xfp_driver *cu, const struct xfp_copy *c, size_t offset,
                           size_t bytes, xcu_stream stream)
{
    xcu_deviceptr dst = c->dst->address + offset, src = c->src->address + offset;

    if (c->peer)
        return cu->cuMemcpyPeerAsync(dst, c->dst->device->context, src, c->src->device->context,
                                     bytes, stream);
    if (c->src->host)
        return cu->cuMemcpyHtoDAsync(dst, c->src->host + offset, bytes, stream);
    if (c->dst->host)
        return cu->cuMemcpyDtoHAsync(c->dst->host + offset, src, bytes, stream);
    return cu->cuMemcpyDtoDAsync(dst, src, bytes, stream);
}

xcu_result xfp_submit_lead(const struct xfp_driver *cu, const struct xfp_copy *c, size_t bytes,
                           xcu_stream stream)
{
    size_t lead = bytes < LEAD_BYTES ? bytes : LEAD_BYTES, at = c->dst->bytes - lead;
    struct xfp_buffer end = *c->dst;
    struct xfp_copy copy = *c;

    end.address += at;
    end.host += end.host ? at : 0;
    copy.dst = &end;
    return xfp_submit_part(cu, &copy, 0, lead, stream);
}

static xcu_result submit(const struct xfp_driver *cu, const struct xfp_copy *c, size_t bytes)
{
    return xfp_submit_part(cu, c, 0, bytes, c->device->stream);
}

static bool flushes(const struct xfp_session *s, const struct xfp_copy *c)
{
    return (s->sys.flush || s->sys.warm) && (c->src->host || c->dst->host);
}

void xfp_flush_copy(const struct xfp_session *s, const struct xfp_copy *c, size_t bytes)
{
    xfp_flush_buffer(&s->sys, c->src, bytes);
    xfp_flush_buffer(&s->sys, c->dst, bytes);
}

/* Whether the gate is used for this copy: not on a GPU where it gave up repeatedly, nor by the
 * paper's rule, which submits one copy and waits for it. */
static bool uses_gate(const struct xfp_session *s, const struct xfp_copy *c)
{
    return c->gated && xfp_gate_usable(c->device) && !s->options->paper;
}

/* ---- the asynchronous form ------------------------------------------------------------------ */

struct batch {
    const struct xfp_copy *copy;
    size_t bytes;
    size_t count; /* copies, each between two events of its own; 0: not known yet */
    bool gated;
    double device_ns[XFP_MOST_IN_BATCH], host_ns[XFP_MOST_IN_BATCH];
};

static xcu_result queue_batch(struct xfp_session *s, void *state)
{
    struct batch *b = state;
    const struct xfp_driver *cu = s->sys.cu;
    struct xfp_device *d = b->copy->device;
    xcu_result result = b->gated ? xfp_submit_lead(cu, b->copy, b->bytes, d->stream) : XCU_SUCCESS;

    for (size_t i = 0; i < b->count && !result; i++) {
        uint64_t before, after;

        result = cu->cuEventRecord(d->events[2 * i], d->stream);
        before = xfp_driver_now_ns(cu);
        if (!result)
            result = submit(cu, b->copy, b->bytes);
        after = xfp_driver_now_ns(cu);
        if (!result)
            result = cu->cuEventRecord(d->events[2 * i + 1], d->stream);
        b->host_ns[i] = (double)(after - before);
    }
    return result;
}

/* Repeats a batch that its gate did not hold. Without a gate and with caches to flush, a batch is
 * one copy: a second one would read from the caches. */
static int run_batch(struct xfp_session *s, struct batch *b)
{
    struct xfp_device *d = b->copy->device;
    struct xfp_queued queued = {.device = d, .queue = queue_batch, .state = b, .what = "copying"};
    int state;

    do {
        b->gated = queued.gated = uses_gate(s, b->copy);
        if (!b->gated || flushes(s, b->copy))
            b->count = 1;
        xfp_flush_copy(s, b->copy, b->bytes);
        state = xfp_run_queued(s, &queued);
    } while (state > 0);
    for (size_t i = 0; i < b->count && !state; i++)
        state = xfp_elapsed(s, d->events[2 * i], d->events[2 * i + 1], &b->device_ns[i]);
    return state;
}

static size_t batch_size(double copy_ns)
{
    double fit = copy_ns > 0 ? BATCH_NS / copy_ns : 1;

    return fit >= XFP_MOST_IN_BATCH ? XFP_MOST_IN_BATCH : fit < 1 ? 1 : (size_t)fit;
}

/* The first repetition is one copy; its time decides how many fit into a batch. */
static int go_batch(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    struct batch *b = state;
    bool first = !b->count;

    b->count = first ? 1 : b->count;
    if (run_batch(s, b))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        xfp_samples_add(samples, (double[]){b->device_ns[i], b->host_ns[i]}, 2);
    if (first)
        b->count = batch_size(b->device_ns[0]);
    return 0;
}

int xfp_measure_async(struct xfp_session *s, const struct xfp_copy *c, struct xfp_point *point,
                      uint64_t slice_ns)
{
    struct batch b = {.copy = c, .bytes = point->bytes};
    struct xfp_sampling what = {
        .go = go_batch, .state = &b, .budget_ns = slice_ns, .whole_budget = s->options->paper};
    struct xfp_samples samples;
    struct xfp_stats device;

    if (xfp_take_samples(s, &what, &samples))
        return -1;
    device = xfp_samples_stats(&samples, 0);
    xfp_set_point(point, &device);
    point->host_ns = xfp_samples_stats(&samples, 1).median;
    return 0;
}

/* ---- the synchronous form ------------------------------------------------------------------- */

struct blocking {
    const struct xfp_copy *copy;
    size_t bytes;
};

static xcu_result copy_blocking(const struct xfp_driver *cu, const struct xfp_copy *c, size_t bytes)
{
    if (c->src->host)
        return cu->cuMemcpyHtoD(c->dst->address, c->src->host, bytes);
    return cu->cuMemcpyDtoH(c->dst->host, c->src->address, bytes);
}

static int go_blocking(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    const struct blocking *b = state;
    uint64_t before, after;
    xcu_result result;

    xfp_flush_copy(s, b->copy, b->bytes);
    before = xfp_driver_now_ns(s->sys.cu);
    result = copy_blocking(s->sys.cu, b->copy, b->bytes);
    after = xfp_driver_now_ns(s->sys.cu);
    xfp_samples_add(samples, (double[]){(double)(after - before)}, 1);
    return xfp_check(&s->sys, result, "copying");
}

int xfp_measure_blocking(struct xfp_session *s, const struct xfp_copy *c, struct xfp_point *point,
                         uint64_t slice_ns)
{
    struct blocking b = {c, point->bytes};
    struct xfp_sampling what = {
        .go = go_blocking, .state = &b, .budget_ns = slice_ns, .whole_budget = s->options->paper};
    struct xfp_samples samples;
    struct xfp_stats stats;

    if (xfp_take_samples(s, &what, &samples))
        return -1;
    stats = xfp_samples_stats(&samples, 0);
    point->blocking_ns = stats.median;
    point->blocking_low_ns = stats.ci_low;
    point->blocking_high_ns = stats.ci_high;
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

int xfp_measure_copy(struct xfp_session *s, const struct xfp_copy *c, bool blocking,
                     uint64_t slice_ns, struct xfp_point *point)
{
    const struct xfp_buffer *device_end = c->src->host ? c->dst : c->src;

    slice_ns /= blocking ? 2 : 1;
    for (int synchronous = 0; synchronous <= blocking; synchronous++) {
        int bad;

        if (synchronous && xfp_interrupted())
            break;
        if (s->sys.verify && xfp_buffer_clear(&s->sys, c->dst, point->bytes))
            return -1;
        s->sys.cu->cuCtxSetCurrent(c->device->context);
        bad = synchronous ? xfp_measure_blocking(s, c, point, slice_ns)
                          : xfp_measure_async(s, c, point, slice_ns);
        if (bad)
            return -1;
        if (s->sys.verify && xfp_buffer_verify(&s->sys, c->dst, device_end, point->bytes))
            return -1;
    }
    s->sys.cu->cuCtxSetCurrent(c->device->context);
    return 0;
}

/* ---- the gap -------------------------------------------------------------------------------- */

struct burst {
    const struct xfp_copy *copy;
    size_t bytes;
    bool gated;
};

static xcu_result queue_burst(struct xfp_session *s, void *state)
{
    const struct burst *b = state;
    const struct xfp_driver *cu = s->sys.cu;
    struct xfp_device *d = b->copy->device;
    xcu_result result = b->gated ? xfp_submit_lead(cu, b->copy, b->bytes, d->stream) : XCU_SUCCESS;

    if (!result)
        result = cu->cuEventRecord(d->events[0], d->stream);
    for (int i = 0; i < BURST && !result; i++)
        result = submit(cu, b->copy, b->bytes);
    return result ? result : cu->cuEventRecord(d->events[1], d->stream);
}

/* Device time of a burst, from before its first copy to after its last. */
static int go_burst(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    struct burst *b = state;
    struct xfp_device *d = b->copy->device;
    struct xfp_queued queued = {.device = d, .queue = queue_burst, .state = b, .what = "copying"};
    double ns = 0;
    int bad;

    b->gated = queued.gated = uses_gate(s, b->copy);
    bad = xfp_run_queued(s, &queued);
    if (!bad)
        bad = xfp_elapsed(s, d->events[0], d->events[1], &ns);
    if (!bad && ns > 0)
        xfp_samples_add(samples, &ns, 1);
    return bad < 0 ? -1 : 0;
}

double xfp_measure_gap(struct xfp_session *s, const struct xfp_copy *c, size_t bytes,
                       double single_ns, double G_ns_per_byte)
{
    struct burst b = {.copy = c, .bytes = bytes};
    struct xfp_sampling what = {.go = go_burst, .state = &b, .goes = MOST_BURSTS};
    struct xfp_samples samples;
    struct xfp_stats stats;
    double gap;

    /* without the gate the host's submission is measured, unless copying waits for it anyway */
    if (c->gated && !uses_gate(s, c))
        return 0;
    if (xfp_take_samples(s, &what, &samples))
        return 0;
    stats = xfp_samples_stats(&samples, 0);
    if (!stats.n)
        return 0;
    /* L+o + n k G + (n - 1) g against L+o + k G */
    gap = (stats.median - single_ns) / (BURST - 1) - (double)bytes * G_ns_per_byte;
    return gap > 0 ? gap : 0;
}
