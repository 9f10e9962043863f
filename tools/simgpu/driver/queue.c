#include "tools/simgpu/driver/queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/simgpu/driver/effect.h"
#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/kernel.h"
#include "tools/simgpu/driver/lazy.h"
#include "tools/simgpu/driver/memory.h"

struct sim_ops sim_queue;
static bool pumping;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool sim_is_blocking(const struct sim_stream *s)
{
    return !(s->flags & SIM_STREAM_NON_BLOCKING);
}

bool sim_is_legacy(const struct sim_stream *s)
{
    return s == s->context->legacy;
}

/* Do these streams synchronise with each other? (CUDA's legacy default stream.) */
static bool tied(const struct sim_stream *a, const struct sim_stream *b)
{
    return a == b || (a->context == b->context && sim_is_blocking(a) && sim_is_blocking(b) &&
                      (sim_is_legacy(a) || sim_is_legacy(b)));
}

static uint64_t tied_end(const struct sim_stream *s)
{
    if (!sim_is_blocking(s))
        return 0;
    return sim_is_legacy(s) ? s->context->blocking_tail : s->context->legacy->tail;
}

uint64_t sim_stream_end(const struct sim_stream *stream)
{
    return sim_is_legacy(stream) ? later(stream->tail, tied_end(stream)) : stream->tail;
}

/* ---- keeping operations ------------------------------------------------------------------ */

bool sim_op_keep(struct sim_op *op)
{
    struct sim_copy *list;

    if (op->kind == SIM_OP_COPY && op->u.copy.count > 1) {
        list = malloc(op->u.copy.count * sizeof(*list));
        if (!list)
            return false;
        memcpy(list, op->u.copy.list, op->u.copy.count * sizeof(*list));
        op->u.copy.list = list;
    } else if (op->kind == SIM_OP_KERNEL) {
        op->u.kernel.borrowed = NULL;
        op->u.kernel.deferred = true;
        if (op->u.kernel.params)
            op->u.kernel.params->holders++;
    } else if (op->kind == SIM_OP_RECORD || op->kind == SIM_OP_WAIT) {
        op->u.mark->holders++;
    } else if (op->kind == SIM_OP_GRAPH) {
        op->u.exec->holders++;
    }
    return true;
}

void sim_op_drop(struct sim_op *op)
{
    if (op->kind == SIM_OP_COPY && op->u.copy.count > 1)
        free(op->u.copy.list);
    else if (op->kind == SIM_OP_KERNEL)
        sim_params_drop(op->u.kernel.params);
    else if (op->kind == SIM_OP_RECORD || op->kind == SIM_OP_WAIT)
        sim_mark_drop(op->u.mark);
    else if (op->kind == SIM_OP_GRAPH)
        sim_exec_drop(op->u.exec);
    free(op->staged);
}

/* Graphs read their sources when they run. */
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

/* ---- one operation ----------------------------------------------------------------------- */

static const struct sim_copy *first_copy(const struct sim_op *op)
{
    return op->u.copy.count > 1 ? op->u.copy.list : &op->u.copy.one;
}

static struct sim_engine *engine_between(int from, int to)
{
    if (from < 0 && to < 0)
        return NULL;
    if (from < 0)
        return &sim_devices[to].engines[SIM_H2D];
    if (to < 0)
        return &sim_devices[from]
                    .engines[sim_devices[from].gpu->copy_engines == 1 ? SIM_H2D : SIM_D2H];
    return &sim_devices[from].engines[from == to ? SIM_D2D : SIM_P2P];
}

struct sim_engine *sim_op_engine(const struct sim_op *op)
{
    const struct sim_copy *copy;

    if (op->kind == SIM_OP_COPY) {
        copy = first_copy(op);
        return engine_between(copy->src.device, copy->dst.device);
    }
    return NULL;
}

/* Returns what the record takes of the device, after the work itself. */
static uint64_t report(const struct sim_op *op, struct xferscope_simgpu_activity *a)
{
    if (!sim_hooks || !sim_hooks->activity)
        return 0;
    a->correlation = op->correlation;
    a->graph = op->graph;
    a->graph_node = op->graph_node;
    a->asynchronous = op->asynchronous;
    a->context = op->stream->context->id;
    a->stream = op->stream->id;
    if (!sim_hooks->activity(a))
        return 0;
    sim_advance(sim_settings.record_ns);
    return sim_settings.record_device_ns;
}

/* As CUPTI tells of copies between devices without peer access: one copy to the host and one from
 * it, each of all bytes. */
static uint64_t report_halves(const struct sim_op *op, struct xferscope_simgpu_activity a)
{
    uint64_t middle = a.start_ns + (a.end_ns - a.start_ns) / 2;
    struct xferscope_simgpu_activity up = a;

    a.half = 1;
    a.end_ns = up.start_ns = middle;
    up.half = 2;
    up.device = (uint32_t)a.dst_device;
    return report(op, &a) + report(op, &up);
}

static uint64_t report_copy(const struct sim_op *op, uint64_t start, uint64_t end)
{
    const struct sim_copy *copy = first_copy(op);
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_COPY,
                                          .start_ns = start,
                                          .end_ns = end,
                                          .src_memory = copy->src.memory,
                                          .dst_memory = copy->dst.memory,
                                          .src_device = copy->src.device,
                                          .dst_device = copy->dst.device,
                                          .count = (unsigned)op->u.copy.count};

    for (size_t i = 0; i < op->u.copy.count; i++)
        a.bytes += sim_copy_bytes(&copy[i]);
    if (copy->src.device < 0 && copy->dst.device < 0)
        return 0; /* the host's own copies are no activity */
    a.device = (uint32_t)(copy->src.device >= 0 ? copy->src.device : copy->dst.device);
    return op->cost.staged ? report_halves(op, a) : report(op, &a);
}

static uint64_t place_copy(struct sim_op *op, uint64_t ready)
{
    struct sim_engine *engine = sim_op_engine(op);
    uint64_t end = ready + op->cost.device_ns, start;

    if (engine && engine->end)
        end = later(end, engine->end + op->cost.behind_ns);
    start = end - op->cost.device_ns;
    if (engine)
        start = later(start, engine->end);
    sim_effect(op);
    end += report_copy(op, start, end);
    if (engine)
        engine->end = end;
    return end;
}

/* Copies to or from this device wait until every kernel launched before has started. */
static bool synchronises_implicitly(int device)
{
    for (size_t i = 0; sim_profile && i < sim_profile->overlap_count; i++)
        if (sim_profile->overlap[i].device == sim_number_of(device))
            return sim_profile->overlap[i].implicit_sync;
    return false;
}

static uint64_t run_copy(struct sim_op *op, uint64_t ready)
{
    int device = op->stream->context->device;

    if (synchronises_implicitly(device))
        ready = later(ready, sim_devices[device].kernel_start);
    return place_copy(op, ready);
}

static uint64_t run_fill(struct sim_op *op, uint64_t ready)
{
    const struct sim_fill *f = &op->u.fill;
    uint64_t end = ready + op->cost.device_ns;
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_MEMSET,
                                          .start_ns = ready,
                                          .end_ns = end,
                                          .bytes = f->width * f->element * f->height,
                                          .device = (uint32_t)f->device,
                                          .dst_device = f->device,
                                          .value = f->value};

    sim_effect(op);
    return end + report(op, &a);
}

static uint64_t run_gate(const struct sim_kernel *k, uint64_t ready)
{
    if (k->gate[0])
        return later(ready, sim_now());
    k->gate[1] = 1;
    return ready + k->limit;
}

static uint64_t run_kernel(struct sim_op *op, uint64_t ready)
{
    const struct sim_kernel *k = &op->u.kernel;
    int device = op->stream->context->device;

    sim_thread.kernel_start = ready;
    sim_devices[device].kernel_start = later(sim_devices[device].kernel_start, ready);
    uint64_t end = k->gate ? run_gate(k, ready) : ready + sim_kernel_run(k, device);
    sim_effect(op);
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_KERNEL,
                                          .start_ns = ready,
                                          .end_ns = end,
                                          .device = (uint32_t)device,
                                          .name = k->function->name};

    memcpy(a.grid, k->grid, sizeof(a.grid));
    memcpy(a.block, k->block, sizeof(a.block));
    return end + report(op, &a);
}

/* The program's function must be free to take locks that another caller of CUDA holds. Waited for,
 * it is called when its time has come, and takes what time it spends. */
static uint64_t run_host(const struct sim_op *op, uint64_t ready)
{
    uint64_t began;

    if (sim_settings.lazy)
        sim_wait_until(ready);
    began = sim_now();
    sim_thread.in_callback = true;
    sim_unlock();
    if (op->u.host.function)
        op->u.host.function(op->u.host.user);
    else
        op->u.host.callback(op->stream, XCU_SUCCESS, op->u.host.user);
    sim_lock();
    sim_thread.in_callback = false;
    return sim_settings.lazy ? ready + (sim_now() - began) : ready;
}

static uint64_t run_prefetch(struct sim_op *op, uint64_t ready)
{
    struct sim_range *range = sim_range_at(op->u.prefetch.start);
    uint64_t ns;
    size_t bytes;
    int from = -1;

    if (!range || range->memory != XFT_MEM_MANAGED)
        return ready; /* freed since */
    bytes = sim_managed_move(range, op->u.prefetch.start, op->u.prefetch.bytes,
                             op->u.prefetch.device, &from);
    ns = bytes ? sim_managed_ns(bytes, from, op->u.prefetch.device, XFP_PREFETCH) : 0;
    sim_report_migration(&(struct sim_migration){.address = op->u.prefetch.start,
                                                 .bytes = bytes,
                                                 .from = from,
                                                 .to = op->u.prefetch.device,
                                                 .start = ready,
                                                 .ns = ns,
                                                 .prefetched = true});
    return ready + ns;
}

uint64_t sim_execute(struct sim_op *op, uint64_t ready)
{
    struct sim_range *range;

    switch (op->kind) {
    case SIM_OP_COPY:
        return run_copy(op, ready);
    case SIM_OP_MEMSET:
        return run_fill(op, ready);
    case SIM_OP_KERNEL:
        return run_kernel(op, ready);
    case SIM_OP_HOST:
        return run_host(op, ready);
    case SIM_OP_RECORD:
        op->u.mark->time = ready;
        op->u.mark->done = true;
        sim_effect(op);
        return ready;
    case SIM_OP_WAIT:
        sim_effect(op);
        return later(ready, op->u.mark->time);
    case SIM_OP_GRAPH:
        return sim_graph_run(op->u.exec->graph, op, ready);
    case SIM_OP_PREFETCH:
        return run_prefetch(op, ready);
    case SIM_OP_FREE:
    case SIM_OP_WRITE:
        sim_effect(op);
        return ready;
    case SIM_OP_GRAPH_ALLOC:
        range = sim_range_at((void *)op->u.address);
        if (range)
            range->flags &= ~(unsigned)SIM_RANGE_GRAPH;
        return ready;
    case SIM_OP_GRAPH_FREE:
    case SIM_OP_EMPTY:
        break;
    }
    return ready;
}

/* ---- order ------------------------------------------------------------------------------- */

static uint64_t ready_time(const struct sim_op *op, const struct sim_engine *engine)
{
    const struct sim_stream *s = op->stream;
    uint64_t before = engine && engine == s->tail_engine ? s->hard : s->tail;

    return later(later(op->submitted, tied_end(s)), before);
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
    s->tail = later(s->tail, end);
    s->context->tail = later(s->context->tail, s->tail);
    if (sim_is_blocking(s) && !sim_is_legacy(s))
        s->context->blocking_tail = later(s->context->blocking_tail, s->tail);
}

static bool gate_closed(const struct sim_op *op)
{
    const struct sim_kernel *k = &op->u.kernel;

    if (op->kind != SIM_OP_KERNEL || !k->gate || k->gate[0])
        return false;
    return !k->limit || sim_now() < ready_time(op, NULL) + k->limit;
}

/* Is there something in the queue before `end` that this has to follow? */
static bool follows_queued(const struct sim_op *op, const struct sim_op *end)
{
    for (const struct sim_op *o = sim_queue.first; o && o != end; o = o->next)
        if (tied(o->stream, op->stream))
            return true;
    return false;
}

static bool waits_itself(const struct sim_op *op)
{
    return gate_closed(op) || (op->kind == SIM_OP_WAIT && !op->u.mark->done) ||
           sim_stays_for_demand(op);
}

/* A stream that synchronises with no other follows itself alone: no need to go through the queue,
 * which every call does (hundreds of streams behind one gate would take the cube of their number).
 */
static bool must_be_queued(const struct sim_op *op)
{
    bool follows = sim_is_blocking(op->stream) ? follows_queued(op, NULL) : op->stream->pending > 0;

    return follows || waits_itself(op);
}

/* The same for an operation of the queue, after all before it that could run have. */
static bool must_stay(const struct sim_op *op, uint64_t pass)
{
    bool follows = sim_is_blocking(op->stream) ? follows_queued(op, op) : op->stream->stays == pass;

    return follows || waits_itself(op);
}

bool sim_op_is_next(const struct sim_op *op, uint64_t *ready)
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

xcu_result sim_submit(struct sim_stream *stream, struct sim_op *op)
{
    op->stream = stream;
    op->submitted = sim_now();
    op->correlation = sim_thread.call ? sim_thread.call->correlation : 0;
    op->next = NULL;
    if (stream->capture)
        return sim_capture_append(stream, op);
    sim_take(op);
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

bool sim_stream_pending(const struct sim_stream *stream)
{
    for (const struct sim_op *o = sim_queue.first; o; o = o->next)
        if (o->stream == stream || (sim_is_legacy(stream) && tied(o->stream, stream)))
            return true;
    return false;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Nobody opens the gate: time passes on the simulated machine until it gives up. */
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

/* What is in the queue for it may go on. */
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
    sim_settle(what);
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
    sim_settle(what);
}

void sim_wait_mark(struct sim_mark *mark)
{
    const struct sim_awaited what = {.mark = mark};
    unsigned turns = 0;

    mark->holders++;
    for (let_go_on(what); !mark->done; let_go_on(what))
        let_others_go_on(&turns);
    sim_wait_until(mark->time);
    sim_settle(what);
    sim_mark_drop(mark);
}

struct sim_mark *sim_mark_new(void)
{
    struct sim_mark *mark = calloc(1, sizeof(*mark));

    if (mark)
        mark->holders = 1;
    return mark;
}

void sim_mark_drop(struct sim_mark *mark)
{
    if (mark && --mark->holders == 0)
        free(mark);
}
