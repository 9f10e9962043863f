#include "analyzer/whatif/changes/own_work.h"

#include "analyzer/whatif/changes/costs.h"
#include "xferscope/trace.h"

#define WAITS_SOON_NS 50000.0 /* between a copy and a framework's wait for it */

void xfw_fetched_copy(struct xfw_fetched *fetched, const struct xfw_op *op)
{
    fetched->under_way = op->awaits == XFW_AWAITS_NOTHING;
    fetched->there = !fetched->under_way;
    fetched->bytes[fetched->count++ % XFW_MOST_FETCHED] = op->bytes;
}

static bool is_sent(const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->engine == XFW_TO_DEVICE;
}

bool xfw_fetched_equals(const struct xfw_fetched *fetched, const struct xfw_op *op)
{
    for (unsigned i = 0; i < XFW_MOST_FETCHED && i < fetched->count && is_sent(op); i++)
        if (fetched->bytes[i] == op->bytes)
            return true;
    return false;
}

bool xfw_fetched_awaits(const struct xfw_fetched *fetched, const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_SYNC && op->awaits != XFW_AWAITS_NOTHING &&
           (fetched->under_way || (fetched->there && op->gap_ns <= WAITS_SOON_NS));
}

bool xfw_fetched_is_mixed(const struct xfw_fetched *fetched, const struct xfw_op *op)
{
    return is_sent(op) && xfw_op_may_be_turn(op) && op->gap_ns > XFW_BUSY_NS &&
           !xfw_fetched_equals(fetched, op);
}

double xfw_fetched_work_ns(const struct xfw_fetched *fetched, const struct xfw_op *op, double part)
{
    return xfw_fetched_is_mixed(fetched, op) ? part * op->gap_ns : op->gap_ns;
}
