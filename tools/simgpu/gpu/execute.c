#include "tools/simgpu/gpu/execute.h"

#include <string.h>

#include "tools/simgpu/gpu/engine.h"
#include "tools/simgpu/gpu/known_kernels.h"
#include "tools/simgpu/gpu/lazy.h"
#include "tools/simgpu/gpu/managed.h"

/* ---- records of the hooks ---------------------------------------------------------------- */

/* What CUPTI does once, when the first record of this kind comes. */
static uint64_t first_record_ns(int what)
{
    static bool copied, launched;
    bool *done = what == XFERSCOPE_SIMGPU_COPY     ? &copied
                 : what == XFERSCOPE_SIMGPU_KERNEL ? &launched
                                                   : NULL;

    if (!done || *done)
        return 0;
    *done = true;
    return sim_settings.record_first_ns;
}

/* Returns the ns of the device that the record takes after the work itself. */
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
    sim_advance(sim_settings.record_ns + first_record_ns(a->what));
    return sim_settings.record_device_ns;
}

/* CUPTI reports a copy between devices without peer access as two: one to the host and one from it,
 * each of all bytes. */
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
    const struct sim_copy *copy = sim_op_copies(op);
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

/* ---- copies and fills -------------------------------------------------------------------- */

static uint64_t place_copy(struct sim_op *op, uint64_t ready)
{
    struct sim_engine *engine = sim_op_engine(op);
    const struct sim_engine_use use = {ready, op->cost.device_ns, op->cost.behind_ns};
    uint64_t start = ready, end = ready + op->cost.device_ns, recorded;

    if (engine)
        end = sim_engine_take(engine, &use, &start);
    sim_effect(op);
    recorded = end + report_copy(op, start, end);
    if (engine && engine->end == end)
        engine->end = recorded;
    return recorded;
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
        ready = sim_later(ready, sim_devices[device].kernel_start);
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

/* ---- kernels, functions of the host, prefetches ------------------------------------------ */

static uint64_t run_gate(const struct sim_kernel *k, uint64_t ready)
{
    if (k->gate[0])
        return sim_later(ready, sim_now());
    k->gate[1] = 1;
    return ready + k->limit;
}

/* The kernel's duration in ns. Calls its host twin; what the probe's kernels do is an effect
 * (effect.h). */
static uint64_t kernel_ns(const struct sim_kernel *kernel, int device)
{
    struct sim_function *f = kernel->function;
    void **params = kernel->params ? kernel->params->values : kernel->borrowed;
    uint64_t ns = sim_settings.kernel_ns, touched = 0;

    if (f->known >= 0)
        return sim_known_ns(kernel, device);
    if (!f->twin || (kernel->deferred && !kernel->params))
        return ns;
    sim_thread.kernel_ns = &touched;
    sim_thread.kernel_device = device;
    sim_thread.kernel_set = &ns;
    f->twin(params, kernel->grid, kernel->block);
    sim_thread.kernel_ns = sim_thread.kernel_set = NULL;
    return ns + touched;
}

static uint64_t run_kernel(struct sim_op *op, uint64_t ready)
{
    const struct sim_kernel *k = &op->u.kernel;
    int device = op->stream->context->device;

    sim_thread.kernel_start = ready;
    sim_devices[device].kernel_start = sim_later(sim_devices[device].kernel_start, ready);
    uint64_t end = k->gate ? run_gate(k, ready)
                           : ready + sim_later(kernel_ns(k, device), sim_settings.least_kernel_ns);
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

/* The lock is released meanwhile: the program's function may take locks that another caller of CUDA
 * holds. */
static void call_host(const struct sim_op *op)
{
    sim_thread.in_callback = true;
    sim_unlock();
    if (op->u.host.function)
        op->u.host.function(op->u.host.user);
    else
        op->u.host.callback(op->stream, XCU_SUCCESS, op->u.host.user);
    sim_lock();
    sim_thread.in_callback = false;
}

/* It lasts as long as it spends. Under the virtual clock one thread calls all of them, while the
 * program goes on; under the others, of which the calling thread's is the only one, in lazy mode
 * alone. */
static uint64_t run_host(const struct sim_op *op, uint64_t ready)
{
    struct sim_engine *thread = &sim_devices[op->stream->context->device].functions;
    uint64_t called = ready + sim_settings.function_ns, start = sim_engine_free(thread, called);
    uint64_t began, spent;

    if (sim_clock_go_away(start)) {
        call_host(op);
        spent = sim_clock_come_back() - start;
        return sim_engine_take(thread, &(struct sim_engine_use){called, spent, spent}, &start);
    }
    if (sim_settings.lazy)
        sim_wait_until(ready);
    began = sim_now();
    call_host(op);
    return sim_settings.lazy ? ready + (sim_now() - began) : ready;
}

static uint64_t run_prefetch(struct sim_op *op, uint64_t ready)
{
    struct sim_range *range = sim_range_at(op->u.prefetch.start);
    struct sim_migration m = {.address = op->u.prefetch.start,
                              .bytes = op->u.prefetch.bytes,
                              .to = op->u.prefetch.device,
                              .ready = ready,
                              .prefetched = true};

    if (!range || range->memory != XFT_MEM_MANAGED)
        return ready; /* freed since */
    sim_managed_go(range, &m);
    sim_report_migration(&m);
    return m.end;
}

/* ---- graphs, and any operation ----------------------------------------------------------- */

static uint64_t run_graph(struct sim_graph *graph, const struct sim_op *launch, uint64_t ready);

static uint64_t run_node(struct sim_node *n, const struct sim_op *launch, uint64_t ready,
                         uint32_t graph)
{
    struct sim_op op = n->op;

    for (size_t i = 0; i < n->deps.count; i++)
        if (n->deps.nodes[i]->end + sim_settings.node_ns > ready)
            ready = n->deps.nodes[i]->end + sim_settings.node_ns;
    if (n->disabled)
        return ready;
    if (n->child)
        return run_graph(n->child, launch, ready);
    op.stream = launch->stream;
    op.correlation = launch->correlation;
    op.graph = graph;
    op.graph_node = n->id;
    return sim_execute(&op, ready);
}

/* Nodes may be in any order: each round runs those whose dependencies have run. */
static uint64_t run_graph(struct sim_graph *graph, const struct sim_op *launch, uint64_t ready)
{
    size_t left = graph->count, before = left + 1;
    uint64_t end = ready;

    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->end = 0;
    while (left && left < before) {
        before = left;
        for (size_t i = 0; i < graph->count; i++) {
            struct sim_node *n = graph->nodes[i];
            bool waits = n->end != 0;

            for (size_t d = 0; !waits && d < n->deps.count; d++)
                waits = !n->deps.nodes[d]->end;
            if (waits)
                continue;
            n->end = run_node(n, launch, ready, graph->id);
            end = n->end > end ? n->end : end;
            left--;
        }
    }
    return end;
}

/* When this device sees that the event is done. */
static uint64_t seen_ns(const struct sim_mark *mark, int device)
{
    return mark->time + (mark->device == device ? 0 : sim_settings.across_ns);
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
        op->u.mark->device = op->stream->context->device;
        op->u.mark->done = true;
        sim_effect(op);
        return ready;
    case SIM_OP_WAIT:
        sim_effect(op);
        return sim_later(ready, seen_ns(op->u.mark, op->stream->context->device));
    case SIM_OP_GRAPH:
        return run_graph(op->u.exec->graph, op, ready);
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
