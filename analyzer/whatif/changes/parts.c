#include "analyzer/whatif/changes/parts.h"

void xfw_parts_give(struct xfw_parts *parts, uint32_t thread)
{
    parts->shared = parts->shared || (parts->given && parts->thread != thread);
    parts->given = true;
    parts->thread = thread;
}

uint64_t xfw_parts_begin(struct xfw_parts *parts, uint64_t *of_thread)
{
    uint64_t number = ++*of_thread;
    bool by_turns = parts->part > 0 && !parts->shared && number > parts->begun;
    parts->turns = by_turns ? number - parts->begun : 1;
    parts->begun = number;
    parts->waited = false;
    parts->ends[++parts->part % XFW_PARTS] = 0;
    return parts->part;
}

/* A kernel behind the copies to the host of a part that began with copies to the device. Learnt
 * from one that was taken for a part of its own. */
static bool is_tail(struct xfw_parts *parts, enum xfw_stage stage)
{
    bool alone = parts->first == XFW_STAGE_COMPUTE && parts->stage == XFW_STAGE_COMPUTE;
    if (stage == XFW_STAGE_TO_DEVICE && alone && parts->first_before == XFW_STAGE_TO_DEVICE &&
        parts->fetched_before)
        parts->tails = true;
    return stage == XFW_STAGE_COMPUTE && parts->first == XFW_STAGE_TO_DEVICE && parts->tails;
}

uint64_t xfw_parts_of(struct xfw_parts *parts, uint64_t *of_thread, enum xfw_stage stage,
                      bool neutral)
{
    if (neutral && parts->part)
        return parts->part;
    if (parts->part && stage < parts->stage && is_tail(parts, stage))
        return parts->part;
    if (!parts->part || stage < parts->stage) {
        parts->fetched_before = parts->stage == XFW_STAGE_TO_HOST;
        xfw_parts_begin(parts, of_thread);
        parts->fetches = stage == XFW_STAGE_TO_HOST;
        parts->first_before = parts->first;
        parts->first = stage;
    }
    parts->stage = stage;
    return parts->part;
}

double xfw_parts_end(const struct xfw_parts *parts, uint64_t part, unsigned before)
{
    return part > before ? parts->ends[(part - before) % XFW_PARTS] : 0;
}

double xfw_parts_share(const struct xfw_parts *parts, unsigned buffers)
{
    return parts->turns ? (double)buffers / (double)parts->turns : buffers;
}

unsigned xfw_parts_in_flight(const struct xfw_parts *parts, unsigned buffers)
{
    double share = xfw_parts_share(parts, buffers);
    return share > 1 ? (unsigned)share : 1;
}

unsigned xfw_parts_behind(const struct xfw_parts *parts, uint64_t of_thread, unsigned buffers)
{
    uint64_t until = parts->begun + buffers - 1;
    if (parts->shared || parts->turns == 0)
        return buffers - 1;
    return until > of_thread ? (unsigned)((until - of_thread + parts->turns - 1) / parts->turns)
                             : 0;
}

void xfw_parts_later(struct xfw_parts *parts, double ns)
{
    for (unsigned i = 0; i < XFW_PARTS; i++)
        parts->ends[i] += ns;
}
