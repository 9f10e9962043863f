#include "probe/measure/timed.h"

enum { MOST_GAVE_UP = 3 }; /* spoiled gates before the gate is given up for this GPU */

bool xfp_gate_usable(const struct xfp_device *d)
{
    return d->gate && d->gave_up < MOST_GAVE_UP;
}

int xfp_run_queued(struct xfp_session *s, const struct xfp_queued *q)
{
    struct xfp_device *d = q->device;
    bool gated = q->gated && xfp_gate_usable(d);
    xcu_result queued, done;

    if (gated && xfp_gate_close(&s->sys, d))
        return -1;
    queued = q->queue(s, q->state);
    if (gated)
        xfp_gate_open(d);
    done = s->sys.cu->cuStreamSynchronize(d->stream);
    if (!done && q->other)
        done = s->sys.cu->cuStreamSynchronize(q->other);
    if (xfp_check(&s->sys, queued ? queued : done, q->what))
        return -1;
    if (!gated || xfp_gate_held(d))
        return 0;
    if (!xfp_gate_usable(d))
        xfp_warn(&s->sys, "GPU %d: submission waits for the work; measured without the gate",
                 d->ordinal);
    return 1;
}

int xfp_elapsed(struct xfp_session *s, xcu_event from, xcu_event to, double *ns)
{
    float ms = 0;
    int bad = xfp_check(&s->sys, s->sys.cu->cuEventElapsedTime(&ms, from, to), "reading events");

    *ns = (double)ms * 1e6;
    return bad;
}

/* Events: 0 start, 1 end of the first, 2 end of the second. */
static xcu_result queue_timed(struct xfp_session *s, void *timed)
{
    struct xfp_timed *t = timed;
    const struct xfp_driver *cu = s->sys.cu;
    struct xfp_device *d = t->device;
    uint64_t before;
    xcu_result result = t->lead ? t->lead(s, t->state, d->stream) : XCU_SUCCESS;

    if (!result)
        result = cu->cuEventRecord(d->events[0], d->stream);
    if (!result && t->second)
        result = cu->cuStreamWaitEvent(t->other, d->events[0], 0);
    before = xfp_driver_now_ns(cu);
    if (!result)
        result = t->first(s, t->state, d->stream);
    t->call_ns = (double)(xfp_driver_now_ns(cu) - before);
    if (!result && t->second)
        result = t->second(s, t->state, t->other);
    if (!result)
        result = cu->cuEventRecord(d->events[1], d->stream);
    if (!result && t->second)
        result = cu->cuEventRecord(d->events[2], t->other);
    return result;
}

/* As xfp_run_queued(). */
static int run_timed(struct xfp_session *s, struct xfp_timed *t)
{
    struct xfp_queued queued = {.device = t->device,
                                .gated = t->gated,
                                .queue = queue_timed,
                                .state = t,
                                .other = t->second ? t->other : NULL,
                                .what = "measuring"};

    if (t->prepare && t->prepare(s, t->state))
        return -1;
    return xfp_run_queued(s, &queued);
}

int xfp_once_timed(struct xfp_session *s, void *timed, double *ns)
{
    struct xfp_timed *t = timed;
    xcu_event *events = t->device->events;
    double second = 0;
    int state;

    do
        state = run_timed(s, t);
    while (state > 0);
    if (state || xfp_elapsed(s, events[0], events[1], ns))
        return -1;
    if (t->second && xfp_elapsed(s, events[0], events[2], &second))
        return -1;
    *ns = second > *ns ? second : *ns;
    return 0;
}
