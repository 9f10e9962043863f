#include "analyzer/whatif/op/op.h"

struct xfw_op xfw_op_like(const struct xfw_op *op)
{
    struct xfw_op like;
    xfw_op_make(&like); /* in its place: an op is long */
    like.number = op->number;
    like.made_up = true;
    like.gpu = op->gpu;
    like.stream_gpu = op->stream_gpu;
    like.stream_kind = op->stream_kind;
    like.thread = op->thread;
    like.tid = op->tid;
    like.stream = op->stream;
    like.start_ns = op->start_ns;
    like.end_ns = op->end_ns;
    return like;
}

void xfw_op_take_gap(struct xfw_op *into, struct xfw_op *from)
{
    into->gap_ns = from->gap_ns;
    into->woken_by = from->woken_by;
    into->woken_by_stream = from->woken_by_stream;
    into->woken_by_call = from->woken_by_call;
    into->woken_after_ns = from->woken_after_ns;
    into->within_call = from->within_call;
    into->joins = from->joins;
    into->for_job = from->for_job;
    into->job_counts = from->job_counts;
    into->slept_parts = from->slept_parts;
    into->rested_parts = from->rested_parts;
    into->paced = from->paced;
    into->anew = from->anew;
    if (xfw_op_may_be_held(into) && from->held) {
        into->held = from->held;
        into->certain_parts = from->certain_parts;
        into->made_ns = from->made_ns;
    }
    from->woken_by_stream = from->woken_by_call = 0;
    from->gap_ns = from->woken_after_ns = 0;
    from->woken_by = XFW_NONE;
    from->within_call = from->joins = from->for_job = from->job_counts = false;
    from->slept_parts = from->rested_parts = 0;
    from->paced = XFW_PACED_NOT;
    from->held = 0;
    from->anew = false;
}

double xfw_op_took(const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_ITSELF)
        return op->latency_ns + op->duration_ns + op->wake_ns;
    return op->awaits == XFW_AWAITS_ITS_START ? op->latency_ns + op->wake_ns : op->own_ns;
}

void xfw_op_launch_sooner(struct xfw_op *op, double less_ns)
{
    double copies_ns = op->up_ns + op->down_ns;
    double waited = xfw_min(op->reach_ns, xfw_max(0, op->duration_ns - copies_ns));
    double less = xfw_min(waited, less_ns);
    op->own_ns -= less_ns;
    op->duration_ns -= less;
    op->reach_ns -= less;
}

void xfw_op_drop(struct xfw_op *op)
{
    op->what = XFW_CALL;
    op->awaits = XFW_AWAITS_NOTHING;
    op->engine = XFW_NO_ENGINE;
    op->own_ns = op->wake_ns = op->latency_ns = op->space_ns = op->duration_ns = 0;
    op->lead_ns = 0;
}

double xfw_op_late_ns(const struct xfw_op *op)
{
    const double reaches_ns = XFW_QUEUED_NS, least_ns = 4 * XFW_QUEUED_NS; /* guesses */
    double in = xfw_min(op->end_ns, op->device_start_ns) - reaches_ns - op->start_ns;
    return op->late_in && in > least_ns ? in : 0;
}
