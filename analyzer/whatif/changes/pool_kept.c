/*
 * A memory pool keeps what was freed, in place of giving it back at each wait: its release
 * threshold is high. pool_kept.h says what that does.
 */
#include "analyzer/whatif/changes/pool_kept.h"

#include <math.h>

#include "analyzer/whatif/changes/costs.h"

#define SYNC_NS 2000.0 /* behind the work waited for, with nothing to give back (a guess) */
#define VARIES 0.25    /* of what is saved */
#define ROOM_AT_WORST 2

struct pools {
    struct pool {        /* of a GPU: all of its pools are one */
        uint64_t kept;   /* bytes that were freed and not taken again */
        bool freed;      /* since the last wait: that gives it back, as recorded */
    } of_gpus[XFW_GPUS]; /* by xfw_place_of_gpu() */
    double wake_ns;      /* of waits with nothing to give back; 0: none so far */
};

static struct pool *pool_of(struct pools *pools, const struct xfw_op *op)
{
    return &pools->of_gpus[xfw_place_of_gpu(op->gpu)];
}

/* What of `ns` can be promised to go, where `left` stays. */
static double goes(double ns, double left, enum xfw_certainty certainty)
{
    double less = fmax(0, ns - left);
    return certainty == XFW_LOW ? less * (1 - VARIES) : less;
}

/* What it takes to have memory that the pool has kept. On H200s such calls took 0.7 to 2.8 us, the
 * median of programs (docs/results/allocation-h200-2026-11-29.md); at worst twice as much. */
static double again_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                       enum xfw_certainty certainty)
{
    static const double guess_ns[] = {[XFW_LOW] = 5000, [XFW_LIKELY] = 2000, [XFW_HIGH] = 500};
    double ns = xfw_table_cost(achievable, "alloc/kept", -1, op->gpu, op->bytes, certainty);
    return ns > 0 ? ns : guess_ns[certainty];
}

static void take(const struct xfw_change *change, struct pool *pool,
                 const struct xfw_player *player, struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    uint64_t needs = certainty == XFW_LOW ? ROOM_AT_WORST * op->bytes : op->bytes;
    if (pool->kept < needs)
        return;
    pool->kept -= op->bytes;
    double left = again_ns(achievable, op, certainty);
    double most = xfw_memory_call_ns(achievable, op, certainty);
    op->own_ns -= fmin(most, fmax(0, op->own_ns - left));
}

/* It gave back what was freed before. Of one that did not have to wait that is the call's time. */
static void wait(const struct xfw_change *change, struct pools *pools, struct pool *pool,
                 const struct xfw_player *player, struct xfw_op *op)
{
    if (!pool->freed) {
        double wake = fmin(op->wake_ns, 4 * SYNC_NS);
        pools->wake_ns = pools->wake_ns > 0 ? pools->wake_ns + (wake - pools->wake_ns) / 8 : wake;
        return;
    }
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double call_ns =
        xfw_scalar_cost(&change->analysis->achievable, "sync/stream", op->gpu, XFW_SYNC_STREAM_NS);
    double wake_ns = pools->wake_ns > 0 ? pools->wake_ns : SYNC_NS;
    op->wake_ns -= goes(op->wake_ns, wake_ns, certainty);
    op->own_ns -= goes(op->own_ns, fmax(call_ns, wake_ns), certainty);
    pool->freed = false;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct pools *pools = self;
    struct pool *pool = pool_of(pools, op);
    bool waits = op->awaits == XFW_AWAITS_STREAM || op->awaits == XFW_AWAITS_EVENT ||
                 op->awaits == XFW_AWAITS_DEVICE;
    if (op->kind == XFT_EVENT_SYNC && waits) {
        wait(change, pools, pool, player, op);
    } else if (op->pooled && op->dst != 0 && op->kind == XFT_EVENT_ALLOC) {
        take(change, pool, player, op);
    } else if (op->pooled && op->dst != 0 && op->kind == XFT_EVENT_FREE) {
        pool->kept = xfa_add(pool->kept, op->bytes);
        pool->freed = true;
    }
}

struct xfw_change *xfw_change_keep_pool(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "pool kept",
        .state_bytes = sizeof(struct pools),
        .op = op,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->first = true; /* others may alter the program's waits */
    return change;
}
