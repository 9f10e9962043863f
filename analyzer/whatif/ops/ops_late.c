#include "analyzer/whatif/ops/ops_late.h"

#include <math.h>

void xfw_late_ops_note(struct xfw_late_ops *late, const struct xfw_op *op)
{
    if (!xfw_op_is_work(op) || op->stream == XFW_NONE)
        return;
    late->several = late->several || (late->begun && op->thread != late->thread);
    late->legacy = late->legacy || op->stream_kind == XFW_LEGACY;
    late->thread = late->begun ? late->thread : op->thread;
    late->begun = true;
}

/* It is in order with the default stream's work, and has a record. */
static bool is_ordered(const struct xfw_op *op)
{
    return (op->what == XFW_COPY || op->what == XFW_SET || op->what == XFW_KERNEL) &&
           op->stream != XFW_NONE && op->stream_kind != XFW_NONBLOCKING && !op->last_piece &&
           op->device_end_ns >= op->device_start_ns;
}

bool xfw_late_ops_overtakes(const struct xfw_op *other, const struct xfw_op *op)
{
    return other->thread != op->thread && other->gpu == op->gpu && is_ordered(other) &&
           other->device_start_ns < op->device_start_ns;
}

bool xfw_late_ops_keep(struct xfw_late_ops *late, const struct xfw_pending *pending)
{
    if (late->count == XFW_LATE_OPS || !is_ordered(&pending->op))
        return false;
    struct xfw_late_op *kept = &late->ops[late->count];
    kept->pending = *pending;
    kept->pending.op.late_in = true;
    double behind = xfw_op_late_ns(&kept->pending.op);
    kept->comes_ns = pending->op.start_ns + behind;
    late->count += behind > 0;
    return behind > 0;
}

bool xfw_late_ops_next(struct xfw_late_ops *late, double by_ns, struct xfw_pending *pending)
{
    unsigned first = 0;
    for (unsigned i = 1; i < late->count; i++)
        if (late->ops[i].comes_ns < late->ops[first].comes_ns)
            first = i;
    if (late->count == 0 || late->ops[first].comes_ns > by_ns)
        return false;
    *pending = late->ops[first].pending;
    late->ops[first] = late->ops[--late->count];
    return true;
}
