#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/managed.h"

struct wait {
    struct wait_key {
        uint32_t thread, site;
    } key;
    bool touches; /* the last time, the thread touched managed memory right behind it */
};

struct toucher {
    uint32_t thread;    /* key */
    uint32_t site;      /* of its last wait */
    bool waited;        /* that was its last call */
    bool goes;          /* and went, as it was for touching that memory */
    struct xfw_op wait; /* what went */
};

struct turns {
    struct xfa_table waits, touchers;
    uint64_t stays; /* bytes that did not move to the host, and need not come back */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct turns *turns = self;
    (void)change;
    (void)player;
    xfa_table_init(&turns->waits, sizeof(struct wait_key), sizeof(struct wait));
    xfa_table_init(&turns->touchers, sizeof(uint32_t), sizeof(struct toucher));
}

static void end(const struct xfw_change *change, void *self)
{
    struct turns *turns = self;
    (void)change;
    xfa_table_free(&turns->waits);
    xfa_table_free(&turns->touchers);
}

static struct wait *wait_of(struct turns *turns, uint32_t thread, uint32_t site)
{
    const struct wait_key key = {thread, site};
    return xfa_table_put(&turns->waits, &key);
}

static void let_go(struct toucher *toucher, struct xfw_op *op)
{
    toucher->wait = xfw_op_like(op);
    toucher->wait.kind = op->kind;
    toucher->wait.awaits = op->awaits;
    toucher->wait.event = op->event;
    toucher->wait.own_ns = op->own_ns;
    toucher->wait.wake_ns = op->wake_ns;
    xfw_op_drop(op);
}

/* The own time behind a wait: what touches managed memory there goes with it. A wait that was for
 * something else comes after all. */
static void touch(struct turns *turns, const struct toucher *toucher, struct xfw_player *player,
                  struct xfw_op *op)
{
    bool touched = op->fetched.bytes > 0;
    wait_of(turns, op->thread, toucher->site)->touches = touched;
    if (toucher->goes && !touched)
        xfw_player_play(player, &toucher->wait);
    if (!touched || !toucher->goes)
        return;
    turns->stays += op->fetched.bytes;
    op->gap_ns = 0;
    op->fetched = (struct xfw_moved){0};
}

/* What stayed with the GPU needs not come back to the kernel. */
static void demand(struct turns *turns, struct xfw_op *op)
{
    struct xfw_moved *demanded = &op->demanded;
    uint64_t there = demanded->bytes < turns->stays ? demanded->bytes : turns->stays;
    double part = (double)there / (double)demanded->bytes;
    op->duration_ns -= part * demanded->stalled_ns;
    turns->stays -= there;
    if (there == demanded->bytes) {
        op->link_ns = 0;
        *demanded = (struct xfw_moved){0};
    }
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct turns *turns = self;
    if (xfw_player_certainty(player) != XFW_HIGH && !change->assured)
        return;
    struct toucher *toucher = xfa_table_put(&turns->touchers, &op->thread);
    if (toucher->waited)
        touch(turns, toucher, player, op);
    toucher->waited = op->kind == XFT_EVENT_SYNC && op->awaits != XFW_AWAITS_NOTHING;
    toucher->site = op->site;
    toucher->goes = toucher->waited && wait_of(turns, op->thread, op->site)->touches;
    if (toucher->goes)
        let_go(toucher, op);
    if (op->what == XFW_KERNEL && op->demanded.bytes > 0)
        demand(turns, op);
}

static void finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct turns *turns = self;
    (void)change;
    for (size_t i = 0; i < turns->touchers.count; i++) {
        const struct toucher *toucher = xfa_table_at(&turns->touchers, i);
        if (toucher->goes)
            xfw_player_play(player, &toucher->wait);
    }
}

struct xfw_change *xfw_change_managed_turns(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "managed turns",
        .state_bytes = sizeof(struct turns),
        .begin = begin,
        .op = op,
        .finish = finish,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->least_part = XFW_TURNS_LEAST;
    change->of_span = true;
    return change;
}
