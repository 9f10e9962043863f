#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

enum {
    ROOM = 1024 + XFP_MOST_IN_BATCH,
    MOST_SAMPLES = XFP_MOST_SAMPLES,
    ENOUGH_SAMPLES = 20, /* before the interval's width may end the sampling */
    LEAD_BYTES = 4096,
    BURST = 128, /* copies behind one gate when the gap is measured */
    MOST_BURSTS = 25,
    MOST_GAVE_UP = 3, /* spoiled gates before the gate is given up for this GPU */
};
#define PAPER_NS 2000000000u /* two forms of a copy, a second each */
#define WANTED_SPREAD 0.01
#define BATCH_NS 2e6 /* device time queued behind one gate */

uint64_t xfp_slice_ns(const struct xfp_session *s)
{
    uint64_t now = xfp_wall_ns();
    uint64_t until = now + s->reserved_ns;
    uint64_t left = s->deadline_ns > until ? s->deadline_ns - until : 0;
    size_t points = s->points_planned > s->points_done ? s->points_planned - s->points_done : 1;
    uint64_t most = s->options->quick ? 60000000u : 400000000u;

    /* a fifth is kept for what is not sampling: filling, verifying, allocating */
    left = left / 5 * 4 / points;
    if (s->options->paper)
        return PAPER_NS;
    return left < most ? left : most;
}

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

struct batch {
    size_t count; /* copies, each between two events of its own */
    double device_ns[XFP_MOST_IN_BATCH], host_ns[XFP_MOST_IN_BATCH];
};

static xcu_result queue_batch(struct xfp_session *s, const struct xfp_copy *c, size_t bytes,
                              bool gated, struct batch *b)
{
    const struct xfp_driver *cu = s->cu;
    struct xfp_device *d = c->device;
    xcu_result result = gated ? xfp_submit_lead(cu, c, bytes, d->stream) : XCU_SUCCESS;

    for (size_t i = 0; i < b->count && !result; i++) {
        uint64_t before, after;

        result = cu->cuEventRecord(d->events[2 * i], d->stream);
        before = xfp_driver_now_ns(cu);
        if (!result)
            result = submit(cu, c, bytes);
        after = xfp_driver_now_ns(cu);
        if (!result)
            result = cu->cuEventRecord(d->events[2 * i + 1], d->stream);
        b->host_ns[i] = (double)(after - before);
    }
    return result;
}

/* Is the gate used for this copy? A GPU on which it gave up repeatedly goes without, and the
 * paper's rule knows none: a copy is submitted and waited for. */
static bool uses_gate(const struct xfp_session *s, const struct xfp_copy *c)
{
    return c->gated && c->device->gate && c->device->gave_up < MOST_GAVE_UP && !s->options->paper;
}

/* 1: spoiled, to be repeated; 0; -1. */
static int wait_batch(struct xfp_session *s, const struct xfp_copy *c, bool gated,
                      xcu_result queued)
{
    struct xfp_device *d = c->device;
    xcu_result done;

    if (gated)
        xfp_gate_open(d);
    done = s->cu->cuStreamSynchronize(d->stream);
    if (xfp_check(s, queued ? queued : done, "copying"))
        return -1;
    if (!gated || xfp_gate_held(d))
        return 0;
    if (d->gave_up == MOST_GAVE_UP)
        xfp_warn(s, "GPU %d: submission waits for the copy; measured without the gate", d->ordinal);
    return 1;
}

static int elapsed(struct xfp_session *s, xcu_event from, xcu_event to, double *ns)
{
    float ms = 0;
    int bad = xfp_check(s, s->cu->cuEventElapsedTime(&ms, from, to), "reading events");

    *ns = (double)ms * 1e6;
    return bad;
}

bool xfp_flushes(const struct xfp_session *s, const struct xfp_copy *c)
{
    return s->options->flush && (c->src->host || c->dst->host);
}

void xfp_flush_copy(const struct xfp_session *s, const struct xfp_copy *c, size_t bytes)
{
    xfp_flush_buffer(s, c->src, bytes);
    xfp_flush_buffer(s, c->dst, bytes);
}

static int run_batch(struct xfp_session *s, const struct xfp_copy *c, size_t bytes, struct batch *b)
{
    struct xfp_device *d = c->device;
    int state;

    do {
        bool gated = uses_gate(s, c);

        /* a second copy would find what the first one left in the caches */
        if (!gated || xfp_flushes(s, c))
            b->count = 1;
        xfp_flush_copy(s, c, bytes);
        if (gated && xfp_gate_close(s, d))
            return -1;
        state = wait_batch(s, c, gated, queue_batch(s, c, bytes, gated, b));
    } while (state > 0);
    for (size_t i = 0; i < b->count && !state; i++)
        state = elapsed(s, d->events[2 * i], d->events[2 * i + 1], &b->device_ns[i]);
    return state;
}

bool xfp_enough(const struct xfp_session *s, double *samples, size_t n, uint64_t until_ns)
{
    struct xfp_stats stats;

    if (n < XFP_FEWEST_SAMPLES)
        return false;
    if (n >= MOST_SAMPLES || xfp_wall_ns() >= until_ns)
        return true;
    if (n < ENOUGH_SAMPLES && !s->cu->simulated_now_ns)
        return false;
    stats = xfp_stats_of(samples, n);
    /* a virtual clock is exact: more of the same would say nothing */
    return xfp_stats_spread(&stats) <= (n < ENOUGH_SAMPLES ? 0 : WANTED_SPREAD);
}

/* Of a sweep; by the paper's rule a second has to pass, whatever the number of samples. */
static bool sweep_enough(const struct xfp_session *s, double *samples, size_t n, uint64_t until_ns)
{
    if (s->options->paper)
        return n >= XFP_FEWEST_SAMPLES && xfp_wall_ns() >= until_ns;
    return xfp_enough(s, samples, n, until_ns);
}

static void set_point(struct xfp_point *point, double *device, double *host, size_t n)
{
    struct xfp_stats times = xfp_stats_of(device, n);

    point->n = times.median > 0 ? (uint32_t)n : 0;
    point->median_ns = times.median;
    point->min_ns = times.min;
    point->max_ns = times.max;
    point->ci_low_ns = times.ci_low;
    point->ci_high_ns = times.ci_high;
    point->host_ns = xfp_stats_of(host, n).median;
}

static size_t batch_size(double copy_ns)
{
    double fit = copy_ns > 0 ? BATCH_NS / copy_ns : 1;

    return fit >= XFP_MOST_IN_BATCH ? XFP_MOST_IN_BATCH : fit < 1 ? 1 : (size_t)fit;
}

int xfp_measure_async(struct xfp_session *s, const struct xfp_copy *c, struct xfp_point *point,
                      uint64_t slice_ns)
{
    double device[ROOM], host[ROOM]; /* by the paper's rule there are more: the last ones count */
    struct batch b = {.count = 1};
    uint64_t until;
    size_t n = 0;

    if (run_batch(s, c, point->bytes, &b)) /* the warm-up; it also says how long a copy takes */
        return -1;
    b.count = batch_size(b.device_ns[0]);
    until = xfp_wall_ns() + slice_ns;
    while (!sweep_enough(s, device, n, until) && !xfp_interrupted()) {
        if (run_batch(s, c, point->bytes, &b))
            return -1;
        for (size_t i = 0; i < b.count; i++) {
            device[n % ROOM] = b.device_ns[i];
            host[n++ % ROOM] = b.host_ns[i];
        }
    }
    if (n >= XFP_FEWEST_SAMPLES)
        set_point(point, device, host, n < ROOM ? n : ROOM);
    return 0;
}

static xcu_result copy_blocking(const struct xfp_driver *cu, const struct xfp_copy *c, size_t bytes)
{
    if (c->src->host)
        return cu->cuMemcpyHtoD(c->dst->address, c->src->host, bytes);
    return cu->cuMemcpyDtoH(c->dst->host, c->src->address, bytes);
}

int xfp_measure_blocking(struct xfp_session *s, const struct xfp_copy *c, struct xfp_point *point,
                         uint64_t slice_ns)
{
    double times[ROOM];
    uint64_t until = 0;
    size_t n = 0;
    bool warm = false;

    do { /* at least the warm-up: the caller looks at the data */
        uint64_t before, after;
        xcu_result result;

        xfp_flush_copy(s, c, point->bytes);
        before = xfp_driver_now_ns(s->cu);
        result = copy_blocking(s->cu, c, point->bytes);
        after = xfp_driver_now_ns(s->cu);
        if (xfp_check(s, result, "copying"))
            return -1;
        if (warm)
            times[n++ % ROOM] = (double)(after - before);
        else
            until = xfp_wall_ns() + slice_ns;
        warm = true;
    } while (!sweep_enough(s, times, n, until) && !xfp_interrupted());
    if (n >= XFP_FEWEST_SAMPLES) {
        struct xfp_stats stats = xfp_stats_of(times, n < ROOM ? n : ROOM);

        point->blocking_ns = stats.median;
        point->blocking_low_ns = stats.ci_low;
        point->blocking_high_ns = stats.ci_high;
    }
    return 0;
}

/* Device time of a burst, from before its first copy to after its last; 0 when it was spoiled. */
static int run_burst(struct xfp_session *s, const struct xfp_copy *c, size_t bytes, double *ns)
{
    const struct xfp_driver *cu = s->cu;
    struct xfp_device *d = c->device;
    bool gated = uses_gate(s, c);
    xcu_result result;
    int state;

    if (gated && xfp_gate_close(s, d))
        return -1;
    result = gated ? xfp_submit_lead(cu, c, bytes, d->stream) : XCU_SUCCESS;
    if (!result)
        result = cu->cuEventRecord(d->events[0], d->stream);
    for (int i = 0; i < BURST && !result; i++)
        result = submit(cu, c, bytes);
    if (!result)
        result = cu->cuEventRecord(d->events[1], d->stream);
    state = wait_batch(s, c, gated, result);
    *ns = 0;
    if (!state)
        state = elapsed(s, d->events[0], d->events[1], ns);
    return state < 0 ? -1 : 0;
}

double xfp_measure_gap(struct xfp_session *s, const struct xfp_copy *c, size_t bytes,
                       double single_ns, double G_ns_per_byte)
{
    double times[MOST_BURSTS], ns, gap;
    size_t n = 0;

    /* without the gate the host's submission is measured, unless copying waits for it anyway */
    if (c->gated && !uses_gate(s, c))
        return 0;
    for (int i = 0; i < MOST_BURSTS && !xfp_interrupted(); i++) {
        if (run_burst(s, c, bytes, &ns))
            return 0;
        if (i && ns > 0)
            times[n++] = ns;
    }
    if (n < XFP_FEWEST_SAMPLES)
        return 0;
    /* L+o + n k G + (n - 1) g against L+o + k G */
    gap = (xfp_stats_of(times, n).median - single_ns) / (BURST - 1) - (double)bytes * G_ns_per_byte;
    return gap > 0 ? gap : 0;
}
