#include "tools/simgpu/gpu/lazy.h"

#include <stdlib.h>

#include "tools/simgpu/gpu/effect.h"
#include "tools/simgpu/gpu/streams.h"

struct sim_ops sim_queue;
static struct sim_ops owed;    /* each behind all that it has to follow */
static _Thread_local bool now; /* what this thread runs is waited for: nothing is owed */

/* ---- lists of operations -------------------------------------------------------------------- */

/* An operation of a graph reads its sources when it runs: they are not staged. */
static struct sim_op *kept(const struct sim_op *op)
{
    struct sim_op *copy = malloc(sizeof(*copy));

    if (!copy)
        return NULL;
    *copy = *op;
    copy->staged = NULL;
    if (sim_op_keep(copy)) {
        if (copy->graph || sim_stage(copy))
            return copy;
        sim_op_drop(copy);
    }
    free(copy);
    return NULL;
}

bool sim_ops_add(struct sim_ops *ops, const struct sim_op *op)
{
    struct sim_op *copy = kept(op);

    if (!copy)
        return false;
    copy->next = NULL;
    copy->before = ops->last;
    if (ops->last)
        ops->last->next = copy;
    else
        ops->first = copy;
    ops->last = copy;
    return true;
}

void sim_ops_remove(struct sim_ops *ops, struct sim_op *op)
{
    struct sim_stream *s = op->stream;

    if (op->before)
        op->before->next = op->next;
    else
        ops->first = op->next;
    if (op->next)
        op->next->before = op->before;
    else
        ops->last = op->before;
    sim_op_drop(op);
    free(op);
    if (s->doomed && !s->pending && !s->owed)
        sim_stream_free(s);
}

static bool is_lazy(void)
{
    return sim_settings.lazy;
}

/* ---- what has to be done for something: from the end of a list to its beginning ------------- */

static uint64_t search; /* the number of the latest one: marks what it has come to */

static void begin_search(struct sim_awaited what)
{
    search++;
    if (what.stream) {
        what.stream->needed = search;
        if (sim_is_legacy(what.stream))
            what.stream->context->blocking_needed = search;
    }
    if (what.context)
        what.context->needed = search;
    if (what.mark)
        what.mark->needed = search;
}

static bool is_needed(const struct sim_op *op)
{
    const struct sim_stream *s = op->stream;
    const struct sim_context *c = s->context;

    if (s->needed == search || c->needed == search)
        return true;
    if (sim_is_blocking(s) && (sim_is_legacy(s) ? c->legacy_needed : c->blocking_needed) == search)
        return true;
    return op->kind == SIM_OP_RECORD && op->u.mark->needed == search;
}

/* What a needed operation follows is needed, too. */
static void is_followed(const struct sim_op *op)
{
    struct sim_stream *s = op->stream;

    s->needed = search;
    if (sim_is_blocking(s) && sim_is_legacy(s))
        s->context->blocking_needed = search;
    else if (sim_is_blocking(s))
        s->context->legacy_needed = search;
    if (op->kind == SIM_OP_WAIT)
        op->u.mark->needed = search;
}

/* Marks the operations of a list that have to be done. All that is owed comes before what is in the
 * queue, so a search goes through the queue first. */
static void search_in(const struct sim_ops *ops, bool all)
{
    for (struct sim_op *op = ops->last; op; op = op->before) {
        op->wanted = all || is_needed(op);
        if (op->wanted)
            is_followed(op);
    }
}

void sim_look_for(struct sim_awaited what)
{
    bool all = !what.stream && !what.context && !what.mark;

    begin_search(what);
    search_in(&sim_queue, all);
    search_in(&owed, all);
}

/* ---- effects -------------------------------------------------------------------------------- */

static void do_wanted(void)
{
    struct sim_op *next;

    for (struct sim_op *op = owed.first; op; op = next) {
        next = op->next;
        if (!op->wanted)
            continue;
        sim_effect_do(op);
        op->stream->owed--;
        sim_ops_remove(&owed, op);
    }
}

void sim_do_owed(struct sim_awaited what)
{
    if (!owed.first)
        return;
    sim_look_for(what);
    do_wanted();
}

void sim_do_all_owed(void)
{
    sim_do_owed((struct sim_awaited){0});
}

void sim_effect(struct sim_op *op)
{
    if (is_lazy() && !now) {
        op->stream->owed++;
        if (sim_ops_add(&owed, op))
            return;
        op->stream->owed--;
        sim_do_all_owed();
    }
    sim_effect_do(op);
}

/* ---- what stays in the queue until it is waited for ----------------------------------------- */

static bool any_runs_program(const struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->child ? any_runs_program(graph->nodes[i]->child)
                                   : sim_runs_program(&graph->nodes[i]->op))
            return true;
    return false;
}

bool sim_runs_program(const struct sim_op *op)
{
    switch (op->kind) {
    case SIM_OP_HOST:
        return true;
    case SIM_OP_KERNEL:
        return op->u.kernel.function->twin && (op->u.kernel.params || !op->u.kernel.deferred);
    case SIM_OP_GRAPH:
        return any_runs_program(op->u.exec->graph);
    default:
        return false;
    }
}

bool sim_stays_for_demand(const struct sim_op *op)
{
    return is_lazy() && !op->demanded && sim_runs_program(op);
}

void sim_do_now(const struct sim_op *op)
{
    if (!is_lazy() || !sim_runs_program(op))
        return;
    search++;
    is_followed(op);
    search_in(&owed, false);
    do_wanted();
    now = true;
}

void sim_done_now(void)
{
    now = false;
}

void sim_demand(struct sim_awaited what)
{
    if (!is_lazy() || !sim_queue.first)
        return;
    sim_look_for(what);
    for (struct sim_op *op = sim_queue.first; op; op = op->next)
        op->demanded |= op->wanted;
}
