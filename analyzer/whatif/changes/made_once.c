#include "analyzer/whatif/changes/made_once.h"

#include <stdlib.h>

struct made_once {
    struct xfw_change change;
    struct xfw_setup *setups; /* by process, thread and time */
    size_t count;
};

static int by_thread(const struct xfw_setup *a, const struct xfw_setup *b)
{
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_time(const void *a, const void *b)
{
    const struct xfw_setup *x = a, *y = b;
    int order = by_thread(x, y);
    return order ? order : (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* The key is one call's: it is equal to the setup that the call lies in. */
static int around(const void *key, const void *other)
{
    const struct xfw_setup *call = key, *setup = other;
    int order = by_thread(call, setup);
    if (order)
        return order;
    return call->from_ns < setup->from_ns ? -1 : call->from_ns > setup->to_ns;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct made_once *once = (const struct made_once *)change;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    const struct xfw_setup key = {
        .process = xfw_player_process(player)->number, .tid = op->tid, .from_ns = op->start_ns};
    (void)self;
    if (op->made_up || xfw_op_is_beside(op))
        return;
    const struct xfw_setup *setup = bsearch(&key, once->setups, once->count, sizeof key, around);
    if (!setup || (setup->other && certainty != XFW_HIGH))
        return;
    bool first = op->start_ns <= setup->from_ns;
    double goes = certainty == XFW_LOW ? 0 : xfw_min(op->gap_ns, setup->most_ns);
    op->gap_ns = !first || certainty == XFW_HIGH ? 0 : op->gap_ns - goes;
    if (!setup->stays)
        xfw_op_drop(op);
}

static void release(struct xfw_change *change)
{
    free(((struct made_once *)change)->setups);
}

struct xfw_change *xfw_change_made_once(const struct xfa_analysis *analysis,
                                        struct xfw_setup *setups, size_t count)
{
    static const struct xfw_change_type type = {.name = "made once", .op = op, .free = release};
    struct made_once *once = xfw_change_new(sizeof *once, &type, analysis, NULL);
    once->setups = setups;
    once->count = count;
    qsort(setups, count, sizeof *setups, by_time);
    return &once->change;
}
