#include "analyzer/whatif/beginnings.h"

/* 0: the latest. */
static const struct xfw_recent *recent(const struct xfw_beginnings *beginnings, uint64_t ago)
{
    return &beginnings->recent[(beginnings->calls - 1 - ago) % XFW_RECENT];
}

static bool made_others(const struct xfw_beginnings *beginnings, uint64_t ago)
{
    for (uint64_t i = 0; i < ago; i++)
        if (recent(beginnings, i)->thread == recent(beginnings, ago)->thread)
            return true;
    return false;
}

/* Of the calls that threads made last the one that began or ended last before; where all threads
 * came later to theirs, the last one: it cannot have begun long before. */
static const struct xfw_recent *call_by(const struct xfw_beginnings *beginnings, double when)
{
    uint64_t count = beginnings->calls < XFW_RECENT ? beginnings->calls : XFW_RECENT;
    const struct xfw_recent *found = NULL;
    double latest = -INFINITY;
    for (uint64_t i = 0; i < count; i++) {
        const struct xfw_recent *call = recent(beginnings, i);
        double at = call->end <= when ? call->end : call->came;
        if (at > when || at <= latest || made_others(beginnings, i))
            continue;
        found = call;
        latest = at;
    }
    return found || count == 0 ? found : recent(beginnings, 0);
}

void xfw_begin_thread(const struct xfw_beginnings *beginnings, struct xfw_op *op)
{
    double came = op->start_ns - op->overhead_ns;
    const struct xfw_recent *by = call_by(beginnings, came);
    op->first = !by;
    op->hook_ns = op->overhead_ns;
    if (!by)
        return;
    op->handed_by = by->thread;
    op->handed_within = by->end > came;
    op->handed_ns = op->start_ns - (op->handed_within ? by->start : by->end);
    op->hook_ns += op->handed_within ? by->came - by->start : by->added;
}

void xfw_note_call(struct xfw_beginnings *beginnings, const struct xfw_op *op, double held_ns,
                   double added_ns)
{
    beginnings->recent[beginnings->calls++ % XFW_RECENT] = (struct xfw_recent){
        .came = op->start_ns - held_ns,
        .start = op->start_ns,
        .end = op->end_ns,
        .added = added_ns,
        .thread = op->thread,
    };
}
