#include "analyzer/whatif/changes/waits.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "xferscope/trace.h"

/* ---- memory that copies still use ------------------------------------------------------------ */

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

/* The host waits before the op at hand: before its thread's own time (before_gap), or behind it. */
static void wait_for(struct xfw_reuse *reuse, struct xfw_use *use, const struct xfw_change *change,
                     struct xfw_player *player, struct xfw_op *op, bool before_gap)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = XFW_AWAITS_EVENT;
    wait.event = use->event;
    wait.own_ns = xfw_asked_scalar(&reuse->asked, &change->analysis->achievable, "sync/event",
                                   use->gpu, XFW_SYNC_NS);
    wait.wake_ns = XFW_WAKE_NS;
    if (!before_gap)
        xfw_op_take_gap(&wait, op);
    xfw_player_play(player, &wait);
    use->open = false;
    reuse->open--;
}

/* The program waits for the copy itself. */
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
                                     op->gpu, XFW_RECORD_NS);
    xfw_player_play_behind(player, &record);
}

/* ---- copies become asynchronous -------------------------------------------------------------- */

/* The device's time stays; where it is not known, it is the profile's, or what the call took. */
static void submit(struct xfw_asked *asked, const struct xfa_analysis *analysis, struct xfw_op *op,
                   const struct xfw_host_memory *host)
{
    const struct xfp_path *path =
        xfw_asked_path(asked, &analysis->achievable, host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D,
                       (enum xft_memory)host->memory, host->node, op->gpu);
    struct xfw_copy_cost cost = xfw_asked_cost(asked, path, op->bytes, XFW_LIKELY);
    double submit_ns = cost.known ? cost.submit_ns : XFW_SUBMIT_NS;
    if (!(op->duration_ns > 0)) {
        op->duration_ns = cost.known ? cost.device_ns : fmax(0, op->own_ns - submit_ns);
        op->lead_ns = cost.lead_ns;
    }
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = submit_ns;
    op->wake_ns = 0;
}

static void async_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    struct xfw_reuse *reuse = self;
    struct xfw_host_memory host;
    xfw_reuse_meet(reuse, change, player, op);
    if (op->what != XFW_COPY || op->class == XFW_NONE || !xfw_set_has(&change->set, op->class) ||
        !xfw_host_memory(change->analysis, op, &host) || !xfw_player_take(player, op) ||
        xfw_player_certainty(player) == XFW_LOW)
        return;
    submit(&reuse->asked, change->analysis, op, &host);
    xfw_reuse_add(reuse, change, player, op, &host);
}

struct xfw_change *xfw_change_async(const struct xfa_analysis *analysis, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "async", .state_bytes = sizeof(struct xfw_reuse), .op = async_op};
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, classes);
    change->shares = XFW_IN_PARTS;
    return change;
}

/* ---- waits come later ------------------------------------------------------------------------ */

struct held {        /* the wait that a thread has put off */
    uint32_t thread; /* key */
    bool there;
    struct xfw_op wait;
    uint64_t fetched;
};

struct later {
    struct xfa_table held;
    uint64_t fetched; /* bytes on their way to the host since the last wait */
};

static void later_begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct later *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->held, sizeof(uint32_t), sizeof(struct held));
}

static void later_end(const struct xfw_change *change, void *self)
{
    struct later *state = self;
    (void)change;
    xfa_table_free(&state->held);
}

/* The thread's next call: the wait comes now, before or behind the thread's own time. */
static void wait_now(struct held *held, struct xfw_player *player, struct xfw_op *op)
{
    bool later =
        xfw_player_certainty(player) == XFW_HIGH || xfw_cannot_have_read(op->gap_ns, held->fetched);
    if (later)
        xfw_op_take_gap(&held->wait, op);
    xfw_player_play(player, &held->wait);
    held->there = false;
}

static void put_off(struct held *held, struct xfw_op *op, uint64_t fetched)
{
    held->there = true;
    held->fetched = fetched;
    held->wait = *op;
    held->wait.gap_ns = 0;
    held->wait.made_up = true; /* the recorded op stays, and waits no more */
    xfw_op_drop(op);
}

static void later_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    struct later *state = self;
    struct held *held = xfa_table_get(&state->held, &op->thread);
    if (held && held->there)
        wait_now(held, player, op);
    if (op->what == XFW_COPY && op->engine == XFW_TO_HOST && op->awaits == XFW_AWAITS_NOTHING)
        state->fetched += op->bytes;
    if (op->kind != XFT_EVENT_SYNC || op->awaits == XFW_AWAITS_NOTHING)
        return;
    uint64_t fetched = state->fetched;
    state->fetched = 0;
    if (op->site == XFW_NONE || !xfw_set_has(&change->set, op->site) ||
        xfw_player_certainty(player) == XFW_LOW)
        return;
    put_off(xfa_table_put(&state->held, &op->thread), op, fetched);
}

struct xfw_change *xfw_change_later_wait(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "later wait",
        .state_bytes = sizeof(struct later),
        .begin = later_begin,
        .op = later_op,
        .end = later_end,
    };
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}

/* ---- waits for a device go ------------------------------------------------------------------- */

static void no_device_wait_op(const struct xfw_change *change, void *self,
                              struct xfw_player *player, struct xfw_op *op)
{
    (void)self;
    if (op->kind == XFT_EVENT_SYNC && op->awaits == XFW_AWAITS_DEVICE && op->site != XFW_NONE &&
        xfw_set_has(&change->set, op->site) && xfw_player_certainty(player) != XFW_LOW)
        xfw_op_drop(op);
}

struct xfw_change *xfw_change_no_device_wait(const struct xfa_analysis *analysis,
                                             struct xfw_set *sites)
{
    static const struct xfw_change_type type = {.name = "no device wait", .op = no_device_wait_op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}
