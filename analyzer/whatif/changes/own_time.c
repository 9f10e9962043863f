#include <math.h>
#include <stdlib.h>

#include "analyzer/whatif/changes/changes.h"

#define ROUGHLY_NS 1000 /* what hooks and other work of the recorder may shift a call by */

struct own_time {
    struct xfw_change change;
    struct xfw_cut *cuts; /* by process, thread, time */
    size_t count;
};

static int in_order(const void *a, const void *b)
{
    const struct xfw_cut *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* The first that is not before that. */
static size_t find(const struct own_time *own, const struct xfw_cut *wanted)
{
    size_t first = 0, end = own->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (in_order(&own->cuts[middle], wanted) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct own_time *own = (const struct own_time *)change;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    const struct xfw_cut wanted = {.process = xfw_player_process(player)->number,
                                   .tid = op->tid,
                                   .at_ns = op->start_ns - op->gap_ns - ROUGHLY_NS};
    double less = 0;
    (void)self;
    for (size_t i = find(own, &wanted); i < own->count; i++) {
        const struct xfw_cut *cut = &own->cuts[i];
        if (cut->process != wanted.process || cut->tid != wanted.tid || cut->at_ns >= op->start_ns)
            break;
        less += cut->ns[certainty];
    }
    op->gap_ns -= fmax(0, fmin(less, op->gap_ns));
}

static void release(struct xfw_change *change)
{
    free(((struct own_time *)change)->cuts);
}

struct xfw_change *xfw_change_own_time(const struct xfa_analysis *analysis, struct xfw_cut *cuts,
                                       size_t count)
{
    static const struct xfw_change_type type = {.name = "own time", .op = op, .free = release};
    struct own_time *own = xfw_change_new(sizeof *own, &type, analysis, NULL);
    own->cuts = cuts;
    own->count = count;
    if (count)
        qsort(cuts, count, sizeof *cuts, in_order);
    return &own->change;
}
