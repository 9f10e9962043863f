#include "analyzer/whatif/changes/locked.h"

#include <math.h>

#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/*
 * lock by hand: the program maps, touches and page-locks the memory itself, where it had the driver
 * allocate it page-locked; and undoes that where it had the driver free it (costs.h has what both
 * take).
 */

struct lock {
    struct xfw_change change;
    bool applied; /* by xferscope apply */
};

struct locked {
    struct xfa_table held;  /* by address */
    struct xfa_table tried; /* by site */
};

struct tried {
    uint32_t site; /* key */
    unsigned calls;
};

struct held_block {
    uint64_t address; /* key */
    uint64_t bytes;   /* 0: given back */
};

static void begin_locked(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    (void)change, (void)player;
    struct locked *state = self;
    xfa_table_init(&state->held, sizeof(uint64_t), sizeof(struct held_block));
    xfa_table_init(&state->tried, sizeof(uint32_t), sizeof(struct tried));
}

static void end_locked(const struct xfw_change *change, void *self)
{
    (void)change;
    struct locked *state = self;
    xfa_table_free(&state->held);
    xfa_table_free(&state->tried);
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

static bool is_lockable(const struct xfw_change *change, const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC && op->own_ns > 0 && xfw_is_lockable_by_hand(op->memory) &&
           op->site != XFW_NONE && xfw_set_has(&change->set, op->site);
}

/* Of these the ones that apply makes, once its trials allow. */
static bool is_applied(const struct xfw_change *change, struct locked *state,
                       const struct xfw_player *player, const struct xfw_op *op)
{
    const double worth = 0.9;
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->bytes < XFW_APPLIED_LOCKED || op->memory != XFT_MEM_PINNED || op->flagged ||
        xfw_player_process(player)->gpu_count != 1)
        return false;
    struct xfw_locking cost = xfw_locking_cost(achievable, -1, op->gpu, op->bytes, certainty);
    if (!cost.known || cost.take_ns >= worth * xfw_memory_call_ns(achievable, op, certainty))
        return false;
    struct tried *tried = xfa_table_put(&state->tried, &op->site);
    unsigned calls = tried->calls++;
    return calls >= XFW_APPLIED_TRIALS || calls % 2 == 0;
}

static void lock_by_hand(const struct xfw_change *change, void *self, struct xfw_player *player,
                         struct xfw_op *op)
{
    struct locked *state = self;
    bool taken = is_lockable(change, op) && state->held.count < XFW_ONCE_ADDRESSES &&
                 (!((const struct lock *)change)->applied || is_applied(change, state, player, op));
    if (op->what != XFW_CALL || op->dst == 0 || (!taken && op->kind != XFT_EVENT_FREE))
        return;
    struct held_block *held =
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

static struct xfw_change *new_lock(const struct xfa_analysis *analysis, struct xfw_set *sites,
                                   bool applied)
{
    static const struct xfw_change_type type = {
        .name = "lock by hand",
        .state_bytes = sizeof(struct locked),
        .begin = begin_locked,
        .op = lock_by_hand,
        .end = end_locked,
    };
    struct lock *lock = xfw_change_new(sizeof *lock, &type, analysis, sites);
    lock->applied = applied;
    lock->change.least_part = XFW_LOCK_PART;
    return &lock->change;
}

struct xfw_change *xfw_change_lock_by_hand(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites)
{
    return new_lock(analysis, sites, false);
}

struct xfw_change *xfw_change_lock_by_apply(const struct xfa_analysis *analysis,
                                            struct xfw_set *sites)
{
    return new_lock(analysis, sites, true);
}
