#include <math.h>

#include "analyzer/whatif/changes/changes.h"

struct no_contention {
    struct xfw_change change;
    bool loading;
};

struct state {
    struct xfw_callers callers;
};

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_callers_free(&((struct state *)self)->callers);
}

/* What the call waits for in any case. */
static double rest_ns(const struct state *state, const double *alone, const struct xfw_call *call)
{
    double rest = 0;
    for (unsigned i = 0; i < state->callers.count; i++) {
        const struct xfw_caller *other = &state->callers.items[i];
        if (other->tid != call->tid)
            rest += xfw_caller_rest_ns(other, call->start_ns, alone[other->kind]);
    }
    return rest;
}

static bool submits(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->what != XFW_COPY)
        return xfw_submits(op->kind);
    return op->awaits == XFW_AWAITS_NOTHING && op->class != XFW_NONE &&
           !xfa_row_pageable(&xfa_class_key_at(&change->analysis->classes, op->class)->row);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct no_contention *what = (const struct no_contention *)change;
    const double *alone = xfw_player_process(player)->calls_ns;
    enum xfw_certainty certainty = change->assured ? XFW_HIGH : xfw_player_certainty(player);
    struct state *state = self;
    if (op->made_up || op->what == XFW_RANGE || !alone)
        return;
    const struct xfw_call call = {.tid = op->tid,
                                  .kind = op->kind,
                                  .name = op->name,
                                  .start_ns = op->start_ns,
                                  .end_ns = op->end_ns,
                                  .submits = submits(change, op)};
    const struct xfw_caller *before = xfw_callers_add(&state->callers, &call);
    const struct xfw_caller *own = xfw_callers_of(&state->callers, op->tid);
    bool loaded = (before && before->loads) || (own && own->loads);
    double excess = op->own_ns - alone[op->kind];
    if (certainty == XFW_LOW || !call.submits || !isfinite(excess) || loaded != what->loading ||
        (!loaded && !before))
        return;
    if (certainty == XFW_HIGH)
        op->own_ns -= xfw_max(0, excess);
    else if (!loaded) /* longer, too: else what varies would count as saved */
        op->own_ns = xfw_max(0, op->own_ns - excess + rest_ns(state, alone, &call));
}

struct xfw_change *xfw_change_no_contention(const struct xfa_analysis *analysis, bool loading)
{
    static const struct xfw_change_type type = {
        .name = "no contention", .state_bytes = sizeof(struct state), .op = op, .end = end};
    struct no_contention *what = xfw_change_new(sizeof *what, &type, analysis, NULL);
    what->loading = loading;
    what->change.from = loading ? XFW_HIGH : XFW_LIKELY;
    return &what->change;
}
