#include "tools/simgpu/driver/lazy.h"

#include "tools/simgpu/driver/effect.h"
#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/kernel.h"

static struct sim_ops owed;    /* each behind all that it has to follow */
static _Thread_local bool now; /* what this thread runs is waited for: nothing is owed */

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

/* And so is what it follows. */
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

/* Marks the operations of a list that have to be done. What is in the queue is behind all that is
 * owed, so that one search goes through the queue first. */
static void search_in(const struct sim_ops *ops, bool all)
{
    for (struct sim_op *op = ops->last; op; op = op->before) {
        op->wanted = all || is_needed(op);
        if (op->wanted)
            is_followed(op);
    }
}

static void look_for(struct sim_awaited what)
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

void sim_settle(struct sim_awaited what)
{
    if (!owed.first)
        return;
    look_for(what);
    do_wanted();
}

void sim_settle_all(void)
{
    sim_settle((struct sim_awaited){0});
}

void sim_effect(struct sim_op *op)
{
    if (is_lazy() && !now) {
        op->stream->owed++;
        if (sim_ops_add(&owed, op))
            return;
        op->stream->owed--;
        sim_settle_all();
    }
    sim_effect_do(op);
}

/* ---- what stays in the queue until it is waited for ----------------------------------------- */

static bool runs_program(const struct sim_op *op);

static bool any_runs_program(const struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->child ? any_runs_program(graph->nodes[i]->child)
                                   : runs_program(&graph->nodes[i]->op))
            return true;
    return false;
}

static bool runs_program(const struct sim_op *op)
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
    return is_lazy() && !op->demanded && runs_program(op);
}

void sim_take(struct sim_op *op)
{
    if (!is_lazy() || op->kind != SIM_OP_KERNEL || op->u.kernel.params || !runs_program(op))
        return;
    sim_demand((struct sim_awaited){.stream = op->stream});
    sim_pump();
    op->demanded = true;
}

void sim_do_now(const struct sim_op *op)
{
    if (!is_lazy() || !runs_program(op))
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
    look_for(what);
    for (struct sim_op *op = sim_queue.first; op; op = op->next)
        op->demanded |= op->wanted;
}

void sim_ask(struct sim_awaited what)
{
    struct sim_op *op = sim_queue.first;
    uint64_t ready;

    if (!is_lazy() || !op)
        return;
    look_for(what);
    while (op) {
        if (op->wanted && !op->demanded && runs_program(op) && sim_op_is_next(op, &ready) &&
            ready <= sim_now()) {
            op->demanded = true;
            sim_pump(); /* frees it */
            look_for(what);
            op = sim_queue.first;
        } else {
            op = op->next;
        }
    }
}
