#include "analyzer/whatif/ops/queries.h"

struct key {
    uint32_t thread, awaits;
};

struct last {
    struct key key;
    double since_ns;
    uint32_t stack;
};

void xfw_queries_init(struct xfw_queries *queries)
{
    xfa_table_init(&queries->last, sizeof(struct key), sizeof(struct last));
    queries->counted = false;
}

void xfw_queries_free(struct xfw_queries *queries)
{
    xfa_table_free(&queries->last);
}

static void note_polled(struct xfw_queries *queries, const struct xfw_op *op)
{
    const struct key key = {op->thread, op->awaits};
    struct last *last = xfa_table_put(&queries->last, &key);
    last->since_ns = op->since_ns;
    last->stack = op->stack;
    queries->counted = true;
}

bool xfw_queries_at_once(struct xfw_queries *queries, struct xfw_op *op, double done_ns,
                         double before_ns)
{
    if (op->queries > 0) {
        note_polled(queries, op);
        return false;
    }
    if (!(done_ns > 0) || done_ns > (queries->counted ? op->start_ns : before_ns))
        return false;
    const struct key key = {op->thread, op->awaits};
    const struct last *last = xfa_table_get(&queries->last, &key);
    op->at_once = true;
    op->wake_ns = op->polled_ns = 0;
    op->since_ns = last ? last->since_ns : 0;
    op->stack = last ? last->stack : 0;
    return true;
}
