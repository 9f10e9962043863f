#include <math.h>
#include <stdio.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/* By how much such calls differ from process to process: page-locking 64 MiB and undoing it took 28
 * to 43 ms on one machine (docs/analyze.md). */
#define VARIES 0.25
#define ENOUGH 1.1 /* of the fastest */

/* ---- what it costs --------------------------------------------------------------------------- */

static bool may_use(const struct xfa_achievable *achievable, unsigned threads)
{
    return threads == 1 ||
           (achievable->profile && (int)threads <= achievable->profile->machine.cpus / 2);
}

static struct xfw_locking by_threads(const struct xfa_achievable *achievable, int node, int gpu,
                                     uint64_t bytes, enum xfw_certainty certainty, unsigned threads)
{
    struct xfw_locking locking = {.threads = threads};
    char take[32], give[40];
    if (bytes < XFW_LOCK_LEAST || !may_use(achievable, threads))
        return locking;
    snprintf(take, sizeof take, "lock/threads%u", threads);
    snprintf(give, sizeof give, "un%s", take);
    locking.take_ns = xfw_table_cost(achievable, take, node, gpu, bytes, certainty);
    locking.give_ns = xfw_table_cost(achievable, give, node, gpu, bytes, certainty);
    locking.known = locking.take_ns > 0 && locking.give_ns > 0;
    return locking;
}

struct xfw_locking xfw_locking_cost(const struct xfa_achievable *achievable, int node, int gpu,
                                    uint64_t bytes, enum xfw_certainty certainty)
{
    static const unsigned threads[] = {1, 4, 8, 16};
    enum { COUNT = sizeof threads / sizeof *threads };
    struct xfw_locking each[COUNT];
    double least = INFINITY;
    for (size_t i = 0; i < COUNT; i++) {
        each[i] = by_threads(achievable, node, gpu, bytes, certainty, threads[i]);
        least = each[i].known ? fmin(least, each[i].take_ns) : least;
    }
    for (size_t i = 0; i < COUNT; i++)
        if (each[i].known && each[i].take_ns <= ENOUGH * least)
            return each[i];
    return (struct xfw_locking){0};
}

double xfw_pinning_cost(const struct xfa_achievable *achievable, int node, int gpu, uint64_t bytes,
                        enum xfw_certainty certainty, bool *known)
{
    bool registered = false;
    double least = xfw_registration_cost(achievable, node, gpu, bytes, certainty, &registered);
    double take = xfw_table_cost(achievable, "alloc/pinned", node, gpu, bytes, certainty);
    double give = xfw_table_cost(achievable, "free/pinned", node, gpu, bytes, certainty);
    struct xfw_locking by_hand = xfw_locking_cost(achievable, node, gpu, bytes, certainty);
    least = registered ? least : INFINITY;
    if (take > 0 && give > 0)
        least = fmin(least, take + give);
    if (by_hand.known)
        least = fmin(least, by_hand.take_ns + by_hand.give_ns);
    if (known)
        *known = isfinite(least);
    return isfinite(least) ? least : 0;
}

/* What such a call took when the machine was probed; INFINITY: not measured. */
static double probed_ns(const struct xfa_achievable *achievable, const struct xfw_op *op)
{
    static const char *const kinds[XFT_MEMORY_COUNT] = {
        [XFT_MEM_DEVICE] = "device",   [XFT_MEM_PINNED] = "pinned",
        [XFT_MEM_MAPPED] = "mapped",   [XFT_MEM_WRITE_COMBINED] = "write-combined",
        [XFT_MEM_MANAGED] = "managed", [XFT_MEM_REGISTERED] = "pageable",
    };
    static const char *const calls[] = {
        [XFT_EVENT_ALLOC] = "alloc",
        [XFT_EVENT_FREE] = "free",
        [XFT_EVENT_REGISTER] = "register",
        [XFT_EVENT_UNREGISTER] = "unregister",
    };
    char name[64];
    if (op->memory >= XFT_MEMORY_COUNT || !kinds[op->memory] || achievable->match == XFA_MATCH_NO)
        return INFINITY;
    snprintf(name, sizeof name, "%s/%s", calls[op->kind], kinds[op->memory]);
    double ns = xfw_table_cost(achievable, name, -1, op->gpu, op->bytes, XFW_LIKELY);
    return ns > 0 ? ns : INFINITY;
}

double xfw_memory_call_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                          enum xfw_certainty certainty)
{
    double usual = fmin(op->own_ns, (op->own_ns + probed_ns(achievable, op)) / 2);
    return certainty == XFW_HIGH     ? op->own_ns
           : certainty == XFW_LIKELY ? usual
                                     : usual * (1 - VARIES);
}

/* ---- the change ------------------------------------------------------------------------------ */

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
