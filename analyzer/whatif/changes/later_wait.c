#include "analyzer/whatif/changes/later_wait.h"

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/reuse.h"
#include "xferscope/trace.h"

struct later {
    struct xfw_change change;
    struct xfw_set sites;
};

struct held {        /* the wait that a thread has put off */
    uint32_t thread; /* key */
    bool there;
    struct xfw_op wait;
    uint64_t fetched;
};

struct state {
    struct xfa_table held;
    uint64_t fetched; /* bytes that go to the host and have not been waited for */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct state *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->held, sizeof(uint32_t), sizeof(struct held));
}

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    (void)change;
    xfa_table_free(&state->held);
}

/* The thread's next call: now it waits, before or behind its own time. */
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
    held->wait.made_up = true; /* what was recorded is the op that stays, and waits no more */
    xfw_op_drop(op);
}

static void change_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct later *later = (const struct later *)change;
    struct state *state = self;
    struct held *held = xfa_table_get(&state->held, &op->thread);
    if (held && held->there)
        wait_now(held, player, op);
    if (op->what == XFW_COPY && op->engine == XFW_TO_HOST && op->awaits == XFW_AWAITS_NOTHING)
        state->fetched += op->bytes;
    if (op->kind != XFT_EVENT_SYNC || op->awaits == XFW_AWAITS_NOTHING)
        return;
    uint64_t fetched = state->fetched;
    state->fetched = 0;
    if (op->site == XFW_NONE || !xfw_set_has(&later->sites, op->site) ||
        xfw_player_certainty(player) == XFW_LOW)
        return;
    put_off(xfa_table_put(&state->held, &op->thread), op, fetched);
}

static void release(struct xfw_change *change)
{
    xfw_set_free(&((struct later *)change)->sites);
}

static const struct xfw_change_type type = {
    .name = "later wait",
    .state_bytes = sizeof(struct state),
    .begin = begin,
    .op = change_op,
    .end = end,
    .free = release,
};

struct xfw_change *xfw_change_later_wait(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    struct later *later = xfa_alloc(sizeof *later);
    later->change = (struct xfw_change){.type = &type, .analysis = analysis};
    later->sites = *sites;
    *sites = (struct xfw_set){0};
    return &later->change;
}
