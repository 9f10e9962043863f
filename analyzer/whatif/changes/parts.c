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
    parts->filled[parts->part % XFW_PARTS] = 0;
    return parts->part;
}

/* A kernel behind the copies to the host of a part that began with copies to the device is taken to
 * belong to it, until one is followed by a copy to the host: that one had begun a part. */
static bool is_tail(struct xfw_parts *parts, enum xfw_stage stage)
{
    if (parts->no_tails || stage != XFW_STAGE_COMPUTE || parts->stage != XFW_STAGE_TO_HOST ||
        parts->first != XFW_STAGE_TO_DEVICE)
        return false;
    parts->tail = true;
    return true;
}

uint64_t xfw_parts_of(struct xfw_parts *parts, uint64_t *of_thread, enum xfw_stage stage,
                      bool neutral)
{
    if (parts->part && (neutral || is_tail(parts, stage)))
        return parts->part;
    bool was_none = parts->tail && stage == XFW_STAGE_TO_HOST;
    if (!parts->part || stage < parts->stage || was_none) {
        parts->no_tails = parts->no_tails || was_none;
        parts->first = was_none ? XFW_STAGE_COMPUTE : stage;
        parts->tail = false;
        xfw_parts_begin(parts, of_thread);
        parts->fetches = parts->first == XFW_STAGE_TO_HOST;
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
