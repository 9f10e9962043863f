#include "analyzer/whatif/changes/locked.h"

#include <math.h>

#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/trials.h"

/*
 * lock by hand: the program maps, touches and page-locks the memory itself, where it had the driver
 * allocate it page-locked; and undoes that where it had the driver free it (costs.h has what both
 * take). lock by apply: xferscope apply does so, in its way, and keeps some of it.
 */

/* The change's state. The last two are of apply alone. */
struct locked {
    struct xfa_table held;  /* by address */
    struct xfa_table tried; /* by site */
    struct xfa_table sizes; /* by bytes */
    uint64_t kept_bytes;
};

struct tried {
    uint32_t site; /* key */
    struct xfw_trials trials;
};

struct size {
    uint64_t bytes; /* key */
    unsigned made, kept;
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
    xfa_table_init(&state->sizes, sizeof(uint64_t), sizeof(struct size));
}

static void end_locked(const struct xfw_change *change, void *self)
{
    (void)change;
    struct locked *state = self;
    xfa_table_free(&state->held);
    xfa_table_free(&state->tried);
    xfa_table_free(&state->sizes);
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

/* ---- by apply -------------------------------------------------------------------------------- */

/* What it takes to have so much: what was kept is cleared alone. */
static double take_ns(const struct xfw_locking *cost, const struct size *size)
{
    return size->kept > 0 ? cost->clear_ns : cost->take_ns;
}

/* NAN: apply does not make it, or the profile does not say what that takes. */
static double applied_take_ns(const struct xfw_change *change, struct locked *state,
                              const struct xfw_player *player, const struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->bytes < XFW_APPLIED_LOCKED || op->memory != XFT_MEM_PINNED || op->flagged ||
        xfw_player_process(player)->gpu_count != 1)
        return NAN;
    struct xfw_locking cost = xfw_applied_locking_cost(achievable, op->gpu, op->bytes, certainty);
    if (!cost.known)
        return NAN;
    struct tried *tried = xfa_table_put(&state->tried, &op->site);
    struct size *size = xfa_table_put(&state->sizes, &op->bytes);
    double instead_ns = take_ns(&cost, size), bytes = (double)op->bytes;
    double usual_ns = xfw_memory_call_ns(achievable, op, certainty);
    if (!xfw_trials_next(&tried->trials, true, usual_ns / bytes, instead_ns / bytes))
        return NAN;
    size->made++;
    if (size->kept > 0) {
        size->kept--;
        state->kept_bytes -= op->bytes;
    }
    return instead_ns;
}

static double applied_give_ns(const struct xfw_change *change, struct locked *state,
                              const struct xfw_player *player, const struct xfw_op *op,
                              uint64_t bytes)
{
    struct size *size = xfa_table_put(&state->sizes, &bytes);
    if (size->made > 1 && state->kept_bytes + bytes <= XFW_APPLIED_KEPT) {
        size->kept++;
        state->kept_bytes += bytes;
        return 0;
    }
    return xfw_applied_locking_cost(&change->analysis->achievable, op->gpu, bytes,
                                    xfw_player_certainty(player))
        .give_ns;
}

static void lock_by_apply(const struct xfw_change *change, void *self, struct xfw_player *player,
                          struct xfw_op *op)
{
    struct locked *state = self;
    if (op->what != XFW_CALL || op->dst == 0)
        return;
    if (is_lockable(change, op) && state->held.count < XFW_ONCE_ADDRESSES) {
        double instead_ns = applied_take_ns(change, state, player, op);
        struct held_block *held = xfa_table_put(&state->held, &op->dst);
        held->bytes = isnan(instead_ns) ? 0 : op->bytes;
        if (held->bytes)
            shorten(change, player, op, instead_ns);
    } else if (op->kind == XFT_EVENT_FREE) {
        struct held_block *held = xfa_table_get(&state->held, &op->dst);
        if (held && held->bytes)
            shorten(change, player, op, applied_give_ns(change, state, player, op, held->bytes));
        if (held)
            held->bytes = 0;
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void lock_by_hand(const struct xfw_change *change, void *self, struct xfw_player *player,
                         struct xfw_op *op)
{
    struct locked *state = self;
    bool taken = is_lockable(change, op) && state->held.count < XFW_ONCE_ADDRESSES;
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

/* ---- the changes ----------------------------------------------------------------------------- */

static struct xfw_change *new_lock(const struct xfw_change_type *type,
                                   const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    struct xfw_change *change = xfw_change_new(sizeof *change, type, analysis, sites);
    change->least_part = XFW_LOCK_PART;
    return change;
}

struct xfw_change *xfw_change_lock_by_hand(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "lock by hand",
        .state_bytes = sizeof(struct locked),
        .begin = begin_locked,
        .op = lock_by_hand,
        .end = end_locked,
    };
    return new_lock(&type, analysis, sites);
}

struct xfw_change *xfw_change_lock_by_apply(const struct xfa_analysis *analysis,
                                            struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "lock by apply",
        .state_bytes = sizeof(struct locked),
        .begin = begin_locked,
        .op = lock_by_apply,
        .end = end_locked,
    };
    return new_lock(&type, analysis, sites);
}
