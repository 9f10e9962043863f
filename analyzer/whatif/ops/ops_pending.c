#include "analyzer/whatif/ops/ops_pending.h"

#include <math.h>

#include "analyzer/whatif/ops/ops_link.h"

void xfw_pending_find_submitted(struct xfw_pending *pending)
{
    struct xfw_op *op = &pending->op;
    if (op->what != XFW_GRAPH || pending->parts.records < 2)
        return;
    double in_call = xfw_min(op->end_ns, op->device_end_ns) - op->device_start_ns;
    op->reach_ns = xfw_max(0, in_call - pending->ran_in_call_ns);
}

void xfw_pending_end_moves(struct xfw_pending *pending, struct xfw_records_costs *costs)
{
    struct xfw_op *op = &pending->op;
    xfw_moves_complete(op, &pending->came);
    xfw_records_costs_add_moves(costs, op,
                                xfw_demand_least_ns(costs->achievable, XFT_DIR_H2D, &op->demanded),
                                xfw_demand_least_ns(costs->achievable, XFT_DIR_D2H, &op->fetched));
}

bool xfw_pending_is_doubtful(const struct xfw_op *op)
{
    const double slow_ns = 1e6, slow_ns_per_byte = 1; /* longer than both: a guess */
    return (op->what == XFW_COPY || op->what == XFW_SET) && !op->last_piece &&
           op->device_end_ns - op->device_start_ns > slow_ns + slow_ns_per_byte * (double)op->bytes;
}

void xfw_pending_end_before(struct xfw_op *op, const struct xfw_op *later)
{
    if (op->stream != XFW_NONE && later->stream == op->stream && xfw_op_is_work(later) &&
        later->device_start_ns >= op->device_start_ns && later->device_start_ns < op->device_end_ns)
        op->device_end_ns = later->device_start_ns;
}
