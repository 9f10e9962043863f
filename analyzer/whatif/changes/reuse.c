#include "analyzer/whatif/changes/reuse.h"

#include "xferscope/trace.h"

#define RECORD_NS 1000.0 /* where the profile does not say */
#define SYNC_NS 500.0

bool xfw_host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op,
                     struct xfw_host_memory *host)
{
    if (op->what != XFW_COPY || op->class == XFW_NONE)
        return false;
    const struct xfa_class_key *key = &xfa_class_at(&analysis->classes, op->class)->key;
    bool up = key->row.direction == XFT_DIR_H2D, down = key->row.direction == XFT_DIR_D2H;
    if ((!up && !down) || (key->shape != XFA_LINEAR && !op->in_one))
        return false;
    *host = (struct xfw_host_memory){
        .first = up ? op->src : op->dst,
        .bytes = op->bytes,
        .to_host = down,
        .memory = up ? key->row.src_mem : key->row.dst_mem,
        .node = up ? key->src_node : key->dst_node,
    };
    return true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Before the op at hand, and before its thread's own time; else between the two. */
static void wait_for(struct xfw_reuse *reuse, struct xfw_use *use, const struct xfw_change *change,
                     struct xfw_player *player, struct xfw_op *op, bool before_gap)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = XFW_AWAITS_EVENT;
    wait.event = use->event;
    wait.own_ns = xfw_asked_scalar(&reuse->asked, &change->analysis->achievable, "sync/event",
                                   use->gpu, SYNC_NS);
    wait.wake_ns = XFW_WAKE_NS;
    if (!before_gap)
        xfw_op_take_gap(&wait, op);
    xfw_player_play(player, &wait);
    use->open = false;
    reuse->open--;
}

/* The program waits for it anyway. */
static bool waits_itself(const struct xfw_op *op, const struct xfw_use *use)
{
    if (op->kind != XFT_EVENT_SYNC)
        return false;
    return (op->awaits == XFW_AWAITS_DEVICE && op->gpu == use->gpu) ||
           (op->awaits == XFW_AWAITS_STREAM && op->stream == use->stream);
}

static bool touches(const struct xfw_change *change, const struct xfw_op *op,
                    const struct xfw_use *use)
{
    struct xfw_host_memory host;
    if (xfw_host_memory(change->analysis, op, &host))
        return host.first < use->end && use->first < host.first + host.bytes;
    return (op->kind == XFT_EVENT_UNREGISTER || op->kind == XFT_EVENT_FREE) &&
           op->dst <= use->first && op->dst + (op->bytes ? op->bytes : 1) > use->first;
}

void xfw_reuse_meet(struct xfw_reuse *reuse, const struct xfw_change *change,
                    struct xfw_player *player, struct xfw_op *op)
{
    bool likely = xfw_player_certainty(player) != XFW_HIGH;
    for (unsigned i = 0, left = reuse->open; left > 0; i++) {
        struct xfw_use *use = &reuse->uses[i];
        if (!use->open)
            continue;
        left--;
        if (use->to_host && likely && op->thread == use->thread && op->gap_ns > XFW_BUSY_NS &&
            !xfw_cannot_have_read(op->gap_ns, use->end - use->first)) {
            wait_for(reuse, use, change, player, op, true);
        } else if (touches(change, op, use)) {
            wait_for(reuse, use, change, player, op, likely);
        } else if (waits_itself(op, use)) {
            use->open = false;
            reuse->open--;
        }
    }
}

void xfw_reuse_add(struct xfw_reuse *reuse, const struct xfw_change *change,
                   struct xfw_player *player, const struct xfw_op *op,
                   const struct xfw_host_memory *host)
{
    struct xfw_use *use = &reuse->uses[reuse->next];
    struct xfw_op now = *op;
    if (use->open) /* too many: the oldest is waited for */
        wait_for(reuse, use, change, player, &now, true);
    uint32_t event = reuse->next < reuse->made ? use->event : xfw_player_side_event(player);
    reuse->made += reuse->next == reuse->made;
    reuse->next = (reuse->next + 1) % XFW_USES;
    *use = (struct xfw_use){
        .first = host->first,
        .end = host->first + host->bytes,
        .event = event,
        .stream = op->stream,
        .thread = op->thread,
        .gpu = op->gpu,
        .to_host = host->to_host,
        .open = true,
    };
    reuse->open++;
    struct xfw_op record = xfw_op_like(op);
    record.what = XFW_RECORD;
    record.event = event;
    record.own_ns = xfw_asked_scalar(&reuse->asked, &change->analysis->achievable, "event/record",
                                     op->gpu, RECORD_NS);
    xfw_player_play_behind(player, &record);
}
