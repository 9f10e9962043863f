#include "analyzer/whatif/changes/launch_runs.h"

#include "analyzer/whatif/changes/costs.h"

#define LONG_GAPS 5 /* at best: so many times XFW_BUSY_NS */

double xfw_run_gap_ns(enum xfw_certainty certainty)
{
    return certainty == XFW_HIGH ? LONG_GAPS * XFW_BUSY_NS : XFW_BUSY_NS;
}

/* Another change has taken the call away. */
static bool is_gone(const struct xfw_op *op)
{
    return op->what == XFW_CALL && op->awaits == XFW_AWAITS_NOTHING && op->own_ns == 0;
}

bool xfw_is_between_launches(const struct xfw_op *op)
{
    return op->what == XFW_RANGE || op->what == XFW_MEETING || is_gone(op);
}

/* Something else than the thread itself began the call. */
static bool is_woken(const struct xfw_op *op)
{
    return op->woken_by != XFW_NONE || op->woken_by_stream || op->first;
}

bool xfw_ends_launches(const struct xfw_op *op, enum xfw_certainty certainty)
{
    return is_woken(op) || op->gap_ns > xfw_run_gap_ns(certainty);
}
