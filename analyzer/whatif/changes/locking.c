/*
 * lock by hand: the program maps, touches and page-locks the memory itself, where it had the driver
 * allocate it page-locked; and undoes that where it had the driver free it (costs.h has what both
 * take).
 */
#include <math.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

struct state {
    struct xfa_table held; /* by address */
};

struct held {
    uint64_t address; /* key */
    uint64_t bytes;   /* 0: given back */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    (void)change, (void)player;
    xfa_table_init(&((struct state *)self)->held, sizeof(uint64_t), sizeof(struct held));
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfa_table_free(&((struct state *)self)->held);
}

/* What the call waits for stays: it takes as long behind that (recorded.c). */
static void shorten(const struct xfw_change *change, const struct xfw_player *player,
                    struct xfw_op *op, double instead_ns)
{
    double usual =
        xfw_memory_call_ns(&change->analysis->achievable, op, xfw_player_certainty(player));
    double less = fmax(0, usual - instead_ns);
    op->own_ns -= less;
    op->wake_ns = fmax(0, op->wake_ns - less);
}

static bool takes(const struct xfw_change *change, const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC && op->own_ns > 0 && xfw_is_lockable_by_hand(op->memory) &&
           op->site != XFW_NONE && xfw_set_has(&change->set, op->site);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct state *state = self;
    bool taken = takes(change, op) && state->held.count < XFW_ONCE_ADDRESSES;
    if (op->what != XFW_CALL || op->dst == 0 || (!taken && op->kind != XFT_EVENT_FREE))
        return;
    struct held *held =
        taken ? xfa_table_put(&state->held, &op->dst) : xfa_table_get(&state->held, &op->dst);
    if (taken)
        held->bytes = op->bytes;
    if (!held || held->bytes == 0)
        return;
    struct xfw_locking cost = xfw_locking_cost(&change->analysis->achievable, -1, op->gpu,
                                               held->bytes, xfw_player_certainty(player));
    if (cost.known)
        shorten(change, player, op, taken ? cost.take_ns : cost.give_ns);
    if (!taken)
        held->bytes = 0;
}

struct xfw_change *xfw_change_lock_by_hand(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "lock by hand",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = op,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, sites);
    change->least_part = XFW_LOCK_PART;
    return change;
}
