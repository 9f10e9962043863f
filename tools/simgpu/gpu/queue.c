#include "tools/simgpu/gpu/queue.h"

#include <time.h>

#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/execute.h"
#include "tools/simgpu/gpu/streams.h"

static bool pumping;

/* ---- order ------------------------------------------------------------------------------- */

static uint64_t ready_time(const struct sim_op *op, const struct sim_engine *engine)
{
    const struct sim_stream *s = op->stream;
    uint64_t before = engine && engine == s->tail_engine ? s->hard : s->tail;

    return sim_later(sim_later(op->submitted, sim_tied_end(s)), before);
}

static void run(struct sim_op *op)
{
    struct sim_stream *s = op->stream;
    struct sim_engine *engine = sim_op_engine(op);
    uint64_t end;

    sim_do_now(op);
    end = sim_execute(op, ready_time(op, engine));
    sim_done_now();
    if (engine != s->tail_engine)
        s->hard = s->tail;
    s->tail_engine = engine;
    s->tail = sim_later(s->tail, end);
    s->context->tail = sim_later(s->context->tail, s->tail);
    if (sim_is_blocking(s) && !sim_is_legacy(s))
        s->context->blocking_tail = sim_later(s->context->blocking_tail, s->tail);
}

static bool gate_closed(const struct sim_op *op)
{
    const struct sim_kernel *k = &op->u.kernel;

    if (op->kind != SIM_OP_KERNEL || !k->gate || k->gate[0])
        return false;
    return !k->limit || sim_now() < ready_time(op, NULL) + k->limit;
}

/* The operation has to follow one that is in the queue before `end`. */
static bool follows_queued(const struct sim_op *op, const struct sim_op *end)
{
    for (const struct sim_op *o = sim_queue.first; o && o != end; o = o->next)
        if (sim_tied(o->stream, op->stream))
            return true;
    return false;
}

static bool waits_itself(const struct sim_op *op)
{
    return gate_closed(op) || (op->kind == SIM_OP_WAIT && !op->u.mark->done) ||
           sim_stays_for_demand(op);
}

/* A stream that synchronises with no other follows itself alone, so the queue is not searched:
 * every call does this, and hundreds of streams behind one gate would take the cube of their
 * number. */
static bool must_be_queued(const struct sim_op *op)
{
    bool follows = sim_is_blocking(op->stream) ? follows_queued(op, NULL) : op->stream->pending > 0;

    return follows || waits_itself(op);
}

/* The same for an operation of the queue, after those before it that could run have run. */
static bool must_stay(const struct sim_op *op, uint64_t pass)
{
    bool follows = sim_is_blocking(op->stream) ? follows_queued(op, op) : op->stream->stays == pass;

    return follows || waits_itself(op);
}

/* The operation has nothing to follow in the queue. *ready: its earliest start. */
static bool is_next(const struct sim_op *op, uint64_t *ready)
{
    *ready = ready_time(op, sim_op_engine(op));
    return !follows_queued(op, op);
}

static xcu_result enqueue(struct sim_op *op)
{
    if (!sim_ops_add(&sim_queue, op))
        return XCU_ERROR_OUT_OF_MEMORY;
    op->stream->pending++;
    return XCU_SUCCESS;
}

/* A kernel whose parameters cannot be kept runs at once, and what it follows before it. */
static void take(struct sim_op *op)
{
    if (!sim_settings.lazy || op->kind != SIM_OP_KERNEL || op->u.kernel.params ||
        !sim_runs_program(op))
        return;
    sim_demand((struct sim_awaited){.stream = op->stream});
    sim_pump();
    op->demanded = true;
}

xcu_result sim_submit(struct sim_stream *stream, struct sim_op *op)
{
    op->stream = stream;
    op->submitted = sim_now();
    op->correlation = sim_thread.call ? sim_thread.call->correlation : 0;
    op->next = NULL;
    if (stream->capture)
        return sim_capture_append(stream, op);
    take(op);
    if (must_be_queued(op))
        return enqueue(op);
    run(op);
    return XCU_SUCCESS;
}

void sim_pump(void)
{
    static uint64_t pass;
    struct sim_op *op = sim_queue.first, *next;

    if (pumping || !op)
        return;
    pumping = true;
    pass++;
    for (; op; op = next) {
        if (must_stay(op, pass)) {
            op->stream->stays = pass;
            next = op->next;
            continue;
        }
        run(op);
        next = op->next; /* only now: a host function may have let others submit */
        op->stream->pending--;
        sim_ops_remove(&sim_queue, op);
    }
    pumping = false;
}

void sim_ask(struct sim_awaited what)
{
    struct sim_op *op = sim_queue.first;
    uint64_t ready;

    if (!sim_settings.lazy || !op)
        return;
    sim_look_for(what);
    while (op) {
        if (op->wanted && !op->demanded && sim_runs_program(op) && is_next(op, &ready) &&
            ready <= sim_now()) {
            op->demanded = true;
            sim_pump(); /* frees it */
            sim_look_for(what);
            op = sim_queue.first;
        } else {
            op = op->next;
        }
    }
}

bool sim_stream_pending(const struct sim_stream *stream)
{
    for (const struct sim_op *o = sim_queue.first; o; o = o->next)
        if (o->stream == stream || (sim_is_legacy(stream) && sim_tied(o->stream, stream)))
            return true;
    return false;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* No thread opens the gate: time passes on the simulated machine until the gate gives up. */
static void let_gates_give_up(void)
{
    for (const struct sim_op *o = sim_queue.first; o; o = o->next)
        if (gate_closed(o) && o->u.kernel.limit) {
            sim_wait_until(ready_time(o, NULL) + o->u.kernel.limit);
            return;
        }
}

/* Another thread has to open a gate: it is given real time to do so, without simulated time. */
static void let_others_go_on(unsigned *turns)
{
    struct timespec pause = {0, 100000};

    sim_unlock();
    nanosleep(&pause, NULL);
    sim_lock();
    if (++*turns % 2000 == 0)
        let_gates_give_up();
}

/* Lets the operations go on that the host waits for. */
static void let_go_on(struct sim_awaited what)
{
    sim_demand(what);
    sim_pump();
}

void sim_wait_stream(struct sim_stream *stream)
{
    const struct sim_awaited what = {.stream = stream};
    unsigned turns = 0;

    for (let_go_on(what); sim_stream_pending(stream); let_go_on(what))
        let_others_go_on(&turns);
    sim_wait_until(sim_stream_end(stream));
    sim_do_owed(what);
}

static bool context_pending(const struct sim_context *context)
{
    for (const struct sim_op *o = sim_queue.first; o; o = o->next)
        if (o->stream->context == context)
            return true;
    return false;
}

void sim_wait_context(struct sim_context *context)
{
    const struct sim_awaited what = {.context = context};
    unsigned turns = 0;

    for (let_go_on(what); context_pending(context); let_go_on(what))
        let_others_go_on(&turns);
    sim_wait_until(context->tail);
    sim_do_owed(what);
}

void sim_wait_mark(struct sim_mark *mark)
{
    const struct sim_awaited what = {.mark = mark};
    unsigned turns = 0;

    mark->holders++;
    for (let_go_on(what); !mark->done; let_go_on(what))
        let_others_go_on(&turns);
    sim_wait_until(mark->time);
    sim_do_owed(what);
    sim_mark_drop(mark);
}
