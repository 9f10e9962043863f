#include "preload/apply/gpus/pairs.h"

#define MOST_PAIRS 64

static struct xfs_pair pairs[MOST_PAIRS];
static struct xfs_contexts_table table = {.entries = pairs,
                                          .bytes = sizeof *pairs,
                                          .most = MOST_PAIRS,
                                          .any_order = true,
                                          .adding = ATOMIC_FLAG_INIT};

uint64_t xfs_pair_now(void)
{
    static _Atomic uint64_t now;
    return atomic_fetch_add(&now, 1) + 1;
}

struct xfs_pair *xfs_pair_find(xcu_context one, xcu_context other)
{
    return xfs_contexts_find(&table, one, other);
}

struct xfs_pair *xfs_pair_at(unsigned i)
{
    return i < xfs_contexts_count(&table) ? &pairs[i] : NULL;
}

struct xfs_pair *xfs_pair_take(xcu_context one, xcu_context other)
{
    return xfs_contexts_take(&table, one, other);
}

void xfs_pair_give_back(struct xfs_pair *pair)
{
    xfs_contexts_give_back(&pair->of);
}

bool xfs_pairs_any(void)
{
    return xfs_contexts_count(&table) > 0;
}

static atomic_bool any_ours;

bool xfs_pairs_ours(void)
{
    return atomic_load_explicit(&any_ours, memory_order_relaxed);
}

void xfs_pair_is_to_be_ours(struct xfs_pair *pair, unsigned side)
{
    atomic_store(&any_ours, true);
    atomic_store(&pair->ours[side], true);
}

static bool is_ours(struct xfs_pair *pair)
{
    bool ours = false;
    for (unsigned side = 0; side < 2; side++)
        ours |= atomic_load(&pair->ours[side]) && !atomic_load(&pair->programs[side]);
    return ours;
}

bool xfs_pair_is_ours(xcu_context one, xcu_context other)
{
    struct xfs_pair *pair = xfs_contexts_find(&table, one, other);
    return pair && is_ours(pair);
}

bool xfs_pairs_have_ours(xcu_context context)
{
    unsigned count = xfs_contexts_count(&table);
    bool ours = false;
    for (unsigned i = 0; i < count && !ours; i++)
        ours = (pairs[i].of.context[0] == context || pairs[i].of.context[1] == context) &&
               is_ours(&pairs[i]);
    return ours;
}

static atomic_bool refused;

void xfs_pairs_refuse(void)
{
    atomic_store(&refused, true);
}

bool xfs_pairs_refused(void)
{
    return atomic_load(&refused);
}

void xfs_pairs_of(xcu_context context, void (*work)(struct xfs_pair *pair, unsigned side))
{
    for (unsigned i = 0; i < xfs_contexts_count(&table); i++) {
        struct xfs_pair *pair = xfs_contexts_take_of(&table, i, context);
        if (pair == NULL)
            continue;
        if (xfs_contexts_alive(&pair->of))
            work(pair, pair->of.context[1] == context);
        xfs_pair_give_back(pair);
    }
}

void xfs_pair_end(struct xfs_pair *pair)
{
    xfs_contexts_begin(&table, &pair->of, NULL, NULL);
}

void xfs_pair_after_fork(void)
{
    xfs_contexts_after_fork(&table);
}
