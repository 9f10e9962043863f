#include "analyzer/whatif/schedule/gpu.h"

#include "analyzer/base/alloc.h"

struct xfw_gpu *xfw_gpu_new(void)
{
    struct xfw_gpu *gpu = xfa_alloc(sizeof *gpu);
    for (size_t e = 0; e < XFW_ENGINES; e++)
        xfw_busy_begin(&gpu->engines[e]);
    xfw_busy_begin(&gpu->legacy);
    return gpu;
}

/* ---- copies in both directions --------------------------------------------------------------- */

/* The copy's time: work->times as long while the other engine is busy. from: the other's work that
 * ends behind the copy's start (xfw_busy_after()). */
static double slowed(const struct xfw_busy *other, unsigned from, const struct xfw_interval *work)
{
    double now = work->start, left = work->ns;
    for (unsigned i = from; i < other->count && left > 0; i++) {
        const struct xfw_interval *busy = &other->busy[i];
        double before = xfw_min(left, xfw_max(0, busy->start - now));
        now += before;
        left -= before;
        double both =
            xfw_min(left * work->times, xfw_max(0, busy->end - xfw_max(now, busy->start)));
        now += both;
        left -= both / work->times;
    }
    return now + left - work->start;
}

/* A copy ends later while the other engine is busy, at most at the start of what is placed next.
 * False: it ends as before. */
static bool slow(const struct xfw_busy *engine, const struct xfw_busy *other, unsigned from,
                 struct xfw_interval *copy)
{
    const struct xfw_interval *next = copy + 1;
    double end = copy->start + slowed(other, from, copy);
    if (next < engine->busy + engine->count)
        end = xfw_min(end, next->start);
    if (!(end > copy->end))
        return false;
    copy->end = end;
    return true;
}

/* Slows the copies of the other direction that were placed before this one, from `from` on. */
static void slow_others(struct xfw_streams *streams, int gpu, struct xfw_busy *other, unsigned from,
                        const struct xfw_busy *engine, const struct xfw_interval *work)
{
    for (unsigned i = from; i < other->count; i++) {
        struct xfw_interval *copy = &other->busy[i];
        double before = copy->end;
        if (copy->start >= work->end)
            break;
        if (copy->times <= 1)
            continue;
        slow(other, engine, xfw_busy_after(engine, copy->start), copy);
        xfw_streams_put_off(streams, gpu, copy->stream, before, copy->end);
    }
}

/* Copies in both directions slow each other: a later end of one makes the other end a little later
 * still, so there are several rounds, up to one that changes nothing. */
static void slow_each_other(struct xfw_streams *streams, int gpu, struct xfw_busy *engine,
                            struct xfw_busy *other, struct xfw_interval *placed)
{
    const int rounds = 2;
    const unsigned from = xfw_busy_after(other, placed->start); /* of ends that only grow */
    bool later = true;
    for (int i = 0; i < rounds && later; i++) {
        slow_others(streams, gpu, other, from, engine, placed);
        later = slow(engine, other, from, placed);
    }
}

/* ---- placing --------------------------------------------------------------------------------- */

struct xfw_interval xfw_gpu_place(struct xfw_gpu *gpu, struct xfw_streams *streams,
                                  const struct xfw_op *op, double ready, double lead)
{
    enum xfw_engine which = xfw_op_engine(op);
    struct xfw_busy *engine = &gpu->engines[which];
    struct xfw_busy *other = &gpu->engines[which == XFW_TO_DEVICE ? XFW_TO_HOST : XFW_TO_DEVICE];
    double ns = op->duration_ns - lead, space = xfw_min(op->space_ns, XFW_QUEUED_NS);
    if (op->what == XFW_HOST_FUNCTION) /* its way to the driver's thread passes meanwhile */
        space = 0;
    struct xfw_interval work = {.ns = ns, .times = op->slowdown, .stream = op->stream};
    const unsigned first = xfw_busy_first(engine, ready, space);
    struct xfw_idle idle = xfw_busy_idle_behind(engine, first, ready, ns, space);
    work.start = idle.start;
    if (work.times > 1) {
        ns = slowed(other, xfw_busy_after(other, work.start), &work);
        idle = xfw_busy_idle_behind(engine, first, ready, ns, space);
        work.start = idle.start;
    }
    work.end = work.start + ns;
    struct xfw_interval *placed = xfw_busy_take(engine, idle.at, work);
    if (placed && placed->times > 1)
        slow_each_other(streams, op->gpu, engine, other, placed);
    work = placed ? *placed : work;
    double before = placed && placed > engine->busy ? placed[-1].end : engine->forgotten;
    work.start = xfw_max(work.start - lead, xfw_min(work.start, before));
    return work;
}
