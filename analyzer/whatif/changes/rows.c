#include "analyzer/whatif/changes/rows.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/pack.h"
#include "analyzer/whatif/changes/costs.h"

struct rows {
    struct xfw_change change;
    struct xfw_rows_path *paths;
    size_t count;
};

static void release(struct xfw_change *change)
{
    free(((struct rows *)change)->paths);
}

static int by_class(const void *a, const void *b)
{
    const struct xfw_rows_path *x = a, *y = b;
    return (x->class > y->class) - (x->class < y->class);
}

/* The driver copies pageable memory in the call: all of the call is as much shorter. */
static void shorten_call(struct xfw_op *op, double blocking_ns)
{
    double took = xfw_op_took(op);
    double part = took > blocking_ns ? blocking_ns / took : 1;
    op->own_ns *= part;
    op->latency_ns *= part;
    op->duration_ns *= part;
    op->wake_ns *= part;
}

static void op(const struct xfw_change *change, void *state, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct rows *rows = (const struct rows *)change;
    const struct xfw_rows_path key = {.class = op->class};
    enum xfw_certainty certainty = xfw_player_certainty(player);
    (void)state;
    if (op->what != XFW_COPY || op->class == XFW_NONE)
        return;
    const struct xfw_rows_path *found =
        bsearch(&key, rows->paths, rows->count, sizeof key, by_class);
    if (!found)
        return;
    struct xfw_copy_cost cost = xfw_copy_cost(found->path, op->bytes, certainty);
    if (!cost.known)
        return;
    if (found->in_call)
        shorten_call(op, cost.blocking_ns);
    else
        op->duration_ns = fmin(op->duration_ns, cost.device_ns);
    op->in_one = true;
    if (certainty == XFW_LOW)
        op->gap_ns += xfw_pack_ns(&change->analysis->achievable, 1, op->bytes, XFW_LOW);
}

struct xfw_change *xfw_change_rows(const struct xfa_analysis *analysis, struct xfw_rows_path *paths,
                                   size_t count)
{
    static const struct xfw_change_type type = {.name = "rows", .op = op, .free = release};
    struct rows *rows = xfa_alloc(sizeof *rows);
    rows->change.type = &type;
    rows->change.analysis = analysis;
    rows->change.first = true;
    rows->paths = paths;
    rows->count = count;
    qsort(paths, count, sizeof *paths, by_class);
    return &rows->change;
}
