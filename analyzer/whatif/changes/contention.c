#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define LOADS_NS 100000.0 /* the first launch of a kernel takes longer: the driver loads it */
#define MOST_NAMES 65536  /* of kernels; others are taken to be loaded */

/* ---- who is in the driver -------------------------------------------------------------------- */

void xfw_callers_free(struct xfw_callers *callers)
{
    if (callers->named)
        xfa_table_free(&callers->names);
    *callers = (struct xfw_callers){0};
}

bool xfw_submits(unsigned kind)
{
    return kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET || kind == XFT_EVENT_RECORD ||
           kind == XFT_EVENT_WAIT || kind == XFT_EVENT_HOST_FUNCTION;
}

static bool holds(const struct xfw_call *call)
{
    return call->submits || call->kind == XFT_EVENT_GRAPH_LAUNCH || call->kind == XFT_EVENT_ALLOC ||
           call->kind == XFT_EVENT_FREE || call->kind == XFT_EVENT_REGISTER ||
           call->kind == XFT_EVENT_UNREGISTER;
}

/* The first launch of a kernel, and a long one. */
static bool loads(struct xfw_callers *callers, const struct xfw_call *call)
{
    if (call->kind != XFT_EVENT_LAUNCH || !call->name)
        return false;
    if (!callers->named)
        xfa_table_init(&callers->names, sizeof(uint64_t), sizeof(uint64_t));
    callers->named = true;
    if (callers->names.count >= MOST_NAMES || xfa_table_get(&callers->names, &call->name))
        return false;
    xfa_table_put(&callers->names, &call->name);
    return call->end_ns - call->start_ns > LOADS_NS;
}

static struct xfw_caller *caller_of(struct xfw_callers *callers, int32_t tid)
{
    for (unsigned i = 0; i < callers->count; i++)
        if (callers->items[i].tid == tid)
            return &callers->items[i];
    return NULL;
}

const struct xfw_caller *xfw_callers_of(struct xfw_callers *callers, int32_t tid)
{
    return caller_of(callers, tid);
}

const struct xfw_caller *xfw_callers_add(struct xfw_callers *callers, const struct xfw_call *call)
{
    const struct xfw_caller *before = NULL;
    for (unsigned i = 0; i < callers->count; i++) {
        const struct xfw_caller *other = &callers->items[i];
        bool in = other->tid != call->tid && other->holds && other->end_ns > call->start_ns;
        if (in && (!before || other->end_ns > before->end_ns))
            before = other;
    }
    struct xfw_caller *own = caller_of(callers, call->tid);
    double gap = own ? xfw_max(0, call->start_ns - own->end_ns) : 0;
    if (!own && callers->count < XFW_CALLERS)
        own = &callers->items[callers->count++];
    if (own)
        *own = (struct xfw_caller){
            .tid = call->tid,
            .kind = call->kind,
            .holds = holds(call),
            .loads = loads(callers, call),
            .start_ns = call->start_ns,
            .end_ns = call->end_ns,
            .gap_ns = gap,
        };
    return before;
}

/* ---- what calls take alone ------------------------------------------------------------------- */

void xfw_alone_add(struct xfw_alone *alone, uint32_t process, const double ns[XFW_KINDS])
{
    alone->items =
        xfa_grown(alone->items, &alone->capacity, &alone->count, process, sizeof *alone->items);
    memcpy(alone->items[process].ns, ns, sizeof alone->items[process].ns);
}

void xfw_alone_free(struct xfw_alone *alone)
{
    free(alone->items);
    *alone = (struct xfw_alone){0};
}

/* ---- the change ------------------------------------------------------------------------------ */

struct no_contention {
    struct xfw_change change;
    const struct xfw_alone *alone;
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

/* What the call waits for in any case: for each that is under way as long as that takes alone, and
 * its thread's own time before it, as far as that is shorter: of one thread that comes, too. Where
 * it is not known what it takes alone, until it is done. */
static double rest_ns(const struct state *state, const double *alone, const struct xfw_call *call)
{
    double rest = 0;
    for (unsigned i = 0; i < state->callers.count; i++) {
        const struct xfw_caller *other = &state->callers.items[i];
        double ns = alone[other->kind], left = other->end_ns - call->start_ns;
        if (other->tid != call->tid && other->holds && left > 0)
            rest += isfinite(ns) ? ns + xfw_min(ns, other->gap_ns) : left;
    }
    return rest;
}

static bool submits(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->what != XFW_COPY)
        return xfw_submits(op->kind);
    return op->awaits == XFW_AWAITS_NOTHING && op->class != XFW_NONE &&
           !xfa_row_pageable(&xfa_class_at(&change->analysis->classes, op->class)->key.row);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct no_contention *what = (const struct no_contention *)change;
    uint32_t process = xfw_player_process(player)->number;
    enum xfw_certainty certainty = change->assured ? XFW_HIGH : xfw_player_certainty(player);
    struct state *state = self;
    if (op->made_up || op->what == XFW_RANGE || process >= what->alone->count)
        return;
    const double *alone = what->alone->items[process].ns;
    const struct xfw_call call = {op->tid,      op->kind,   op->name,
                                  op->start_ns, op->end_ns, submits(change, op)};
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

struct xfw_change *xfw_change_no_contention(const struct xfa_analysis *analysis,
                                            const struct xfw_alone *alone, bool loading)
{
    static const struct xfw_change_type type = {
        .name = "no contention", .state_bytes = sizeof(struct state), .op = op, .end = end};
    struct no_contention *what = xfw_change_new(sizeof *what, &type, analysis, NULL);
    what->alone = alone;
    what->loading = loading;
    return &what->change;
}
