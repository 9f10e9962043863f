#include "analyzer/whatif/changes/gpu_lanes.h"

/* ---- memory of the host ---------------------------------------------------------------------- */

static struct xfw_lane_range range_of(const struct xfw_op *copy)
{
    bool down = copy->engine == XFW_TO_HOST;
    uint64_t first = down ? copy->dst : copy->src;
    return (struct xfw_lane_range){first, first + copy->bytes, down, INFINITY};
}

static bool is_with_host(const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->bytes > 0 &&
           (op->engine == XFW_TO_DEVICE || op->engine == XFW_TO_HOST);
}

double xfw_lane_shared_until(const struct xfw_lane *lane, const struct xfw_op *copy, bool any)
{
    const struct xfw_lane_range own = range_of(copy);
    double until = 0;
    if (!is_with_host(copy) || own.first == 0)
        return 0;
    for (unsigned i = 0; i < lane->range_count && i < XFW_LANE_RANGES; i++) {
        const struct xfw_lane_range *other = &lane->ranges[i];
        if (other->first < own.end && own.first < other->end &&
            (any || own.filled || other->filled))
            until = xfw_max(until, other->done_ns);
    }
    return until;
}

void xfw_lane_copied(struct xfw_lane *lane, double now, bool all)
{
    for (unsigned i = 0; i < lane->range_count && i < XFW_LANE_RANGES; i++)
        if (all || i == lane->last_range)
            lane->ranges[i].done_ns = xfw_min(lane->ranges[i].done_ns, now);
}

void xfw_lane_note_copy(struct xfw_lane *lane, const struct xfw_op *copy)
{
    const struct xfw_lane_range own = range_of(copy);
    if (!is_with_host(copy) || own.first == 0)
        return;
    for (unsigned i = 0; i < lane->range_count && i < XFW_LANE_RANGES; i++) {
        struct xfw_lane_range *known = &lane->ranges[i];
        if (known->first == own.first && known->filled == own.filled) {
            known->end = own.end > known->end ? own.end : known->end;
            known->done_ns = INFINITY;
            lane->last_range = i;
            return;
        }
    }
    lane->last_range = lane->range_count++ % XFW_LANE_RANGES;
    lane->ranges[lane->last_range] = own;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static const struct xfw_lane_call *call_at(const struct xfw_lane *lane, uint64_t number)
{
    return &lane->calls[number % XFW_LANE_CALLS];
}

double xfw_lane_holds_up(const struct xfw_lane *lane, double from)
{
    uint64_t end = lane->call_count, low = end > XFW_LANE_CALLS ? end - XFW_LANE_CALLS : 0;
    while (low < end) { /* the first that is over later */
        uint64_t middle = low + (end - low) / 2;
        if (call_at(lane, middle)->to > from)
            end = middle;
        else
            low = middle + 1;
    }
    if (low == lane->call_count || call_at(lane, low)->from > from)
        return 0;
    return call_at(lane, low)->to - from;
}

void xfw_lane_note_call(struct xfw_lane *lane, double from, double to)
{
    lane->calls[lane->call_count++ % XFW_LANE_CALLS] = (struct xfw_lane_call){from, to};
}
