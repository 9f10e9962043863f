#include "analyzer/whatif/changes/more_buffers.h"

#include "analyzer/whatif/changes/costs.h"

struct use {
    struct key {
        uint64_t first; /* where a run began */
        uint32_t stream;
        uint32_t to_host;
    } key;
    uint64_t bytes; /* of the longest such run */
    uint64_t part;  /* that used it last; 0: none yet */
    uint64_t frees; /* of memory there, by then */
    double more;    /* buffers */
    double paid_ns;
};

struct freed {
    uint64_t address; /* key */
    uint64_t times;
};

bool xfw_more_use_of_copy(struct xfw_more_use *use, const struct xfa_analysis *analysis,
                          const struct xfw_op *op)
{
    const struct xfa_class_key *key =
        op->class == XFW_NONE ? NULL : xfa_class_key_at(&analysis->classes, op->class);
    use->to_host = op->engine == XFW_TO_HOST;
    use->first = use->to_host ? op->dst : op->src;
    use->bytes = op->bytes;
    use->stream = op->stream;
    use->node = !key ? -1 : use->to_host ? key->dst_node : key->src_node;
    use->gpu = op->gpu;
    return !key || !xfa_row_pageable(&key->row);
}

static struct use *use_of(struct xfw_more_buffers *buffers, const struct key *key)
{
    if (buffers->uses.item_bytes == 0)
        xfa_table_init(&buffers->uses, sizeof *key, sizeof(struct use));
    return buffers->uses.count < XFW_MOST_MORE_BUFFERS ? xfa_table_put(&buffers->uses, key)
                                                       : xfa_table_get(&buffers->uses, key);
}

void xfw_more_buffers_freed(struct xfw_more_buffers *buffers, uint64_t address)
{
    if (buffers->uses.count == 0)
        return;
    if (buffers->freed.item_bytes == 0)
        xfa_table_init(&buffers->freed, sizeof address, sizeof(struct freed));
    struct freed *freed = buffers->freed.count < XFW_MOST_MORE_BUFFERS
                              ? xfa_table_put(&buffers->freed, &address)
                              : xfa_table_get(&buffers->freed, &address);
    if (freed)
        freed->times++;
}

/* Memory that was allocated anew there has not been used yet. */
static void forget_freed(const struct xfw_more_buffers *buffers, struct use *use)
{
    const struct freed *freed =
        buffers->freed.count ? xfa_table_get(&buffers->freed, &use->key.first) : NULL;
    if (!freed || freed->times == use->frees)
        return;
    use->frees = freed->times;
    use->part = 0;
}

static void follow(struct xfw_more_run *run, const struct xfw_more_use *use)
{
    if (run->part != use->part || run->end != use->first)
        run->first = use->first;
    run->part = use->part;
    run->end = xfa_add(use->first, use->bytes);
}

/* It is used again some parts later: so many buffers are used by turns, and each has its share of
 * what more there are. */
static void count_again(struct use *use, uint64_t part, double in_flight)
{
    if (use->part > 0 && part > use->part)
        use->more = xfw_max(use->more, in_flight / (double)(part - use->part) - 1);
    use->part = part;
}

double xfw_more_buffers_ns(struct xfw_more_buffers *buffers, struct xfw_more_run *run,
                           const struct xfa_achievable *achievable, const struct xfw_more_use *now,
                           double in_flight, enum xfw_certainty certainty)
{
    follow(run, now);
    const struct key key = {run->first, now->stream, now->to_host};
    struct use *use = use_of(buffers, &key);
    if (!use)
        return 0;
    forget_freed(buffers, use);
    double before = use->more;
    uint64_t bytes = run->end - run->first;
    bool longer = bytes > use->bytes;
    use->bytes = longer ? bytes : use->bytes;
    count_again(use, run->part, in_flight);
    if (!(use->more > before) && !(use->more > 0 && longer))
        return 0;
    double all_ns =
        use->more * xfw_pinning_cost(achievable, now->node, now->gpu, use->bytes, certainty, NULL);
    double more_ns = xfw_max(0, all_ns - use->paid_ns);
    use->paid_ns += more_ns;
    return more_ns;
}

void xfw_more_buffers_free(struct xfw_more_buffers *buffers)
{
    if (buffers->uses.item_bytes)
        xfa_table_free(&buffers->uses);
    if (buffers->freed.item_bytes)
        xfa_table_free(&buffers->freed);
}
