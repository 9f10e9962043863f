/*
 * Graphs: making, copying, running them.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "copy_shaped.h"
#include "kernel.h"

static uint32_t graph_ids;
static uint64_t node_ids;

struct sim_graph *sim_graph_new(void)
{
    struct sim_graph *g = calloc(1, sizeof(*g));

    if (!g || !sim_handle_add(g, SIM_GRAPH)) {
        free(g);
        return NULL;
    }
    g->id = ++graph_ids;
    return g;
}

static void node_free(struct sim_node *n)
{
    sim_op_drop(&n->op);
    if (n->child)
        sim_graph_free(n->child);
    sim_deps_clear(&n->deps);
    sim_handle_remove(n);
    free(n);
}

void sim_graph_free(struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        node_free(graph->nodes[i]);
    sim_handle_remove(graph);
    free(graph->nodes);
    free(graph);
}

struct sim_node *sim_graph_add(struct sim_graph *graph, int type, struct sim_node *const *deps,
                               size_t count)
{
    size_t room = graph->room ? graph->room * 2 : 8;
    struct sim_node *n = calloc(1, sizeof(*n)), **bigger;

    if (graph->count == graph->room) {
        bigger = realloc(graph->nodes, room * sizeof(*bigger));
        if (bigger) {
            graph->nodes = bigger;
            graph->room = room;
        }
    }
    if (!n || graph->count == graph->room || !sim_handle_add(n, SIM_NODE)) {
        free(n);
        return NULL;
    }
    n->graph = graph;
    n->type = type;
    n->id = ++node_ids;
    n->op.kind = SIM_OP_EMPTY;
    graph->nodes[graph->count++] = n;
    for (size_t i = 0; i < count; i++)
        if (!sim_deps_add(&n->deps, deps[i]))
            return NULL;
    return n;
}

static bool node_copy(struct sim_node *to, const struct sim_node *from)
{
    to->op = from->op;
    if (!sim_op_keep(&to->op)) {
        to->op.kind = SIM_OP_EMPTY;
        return false;
    }
    to->disabled = from->disabled;
    to->copy = from->copy;
    to->memset = from->memset;
    to->kernel = from->kernel;
    to->host = from->host;
    to->described = from->described;
    to->original = from;
    to->id = from->id; /* activity is reported under the node that the program knows */
    if (from->child)
        to->child = sim_graph_copy(from->child);
    return !from->child || to->child;
}

struct sim_graph *sim_graph_copy(const struct sim_graph *graph)
{
    struct sim_graph *g = sim_graph_new();
    bool good = g != NULL;

    for (size_t i = 0; good && i < graph->count; i++) {
        struct sim_node *n = sim_graph_add(g, graph->nodes[i]->type, NULL, 0);

        good = n && node_copy(n, graph->nodes[i]);
    }
    for (size_t i = 0; good && i < graph->count; i++)
        for (size_t d = 0; good && d < graph->nodes[i]->deps.count; d++)
            for (size_t j = 0; j < graph->count; j++)
                if (graph->nodes[j] == graph->nodes[i]->deps.nodes[d])
                    good = sim_deps_add(&g->nodes[i]->deps, g->nodes[j]);
    if (!good && g) {
        sim_graph_free(g);
        g = NULL;
    }
    return g;
}

/* ---- running ------------------------------------------------------------------------------ */

static uint64_t run_node(struct sim_node *n, const struct sim_op *launch, uint64_t ready,
                         uint32_t graph)
{
    struct sim_op op = n->op;

    for (size_t i = 0; i < n->deps.count; i++)
        if (n->deps.nodes[i]->end > ready)
            ready = n->deps.nodes[i]->end;
    if (n->disabled)
        return ready;
    if (n->child)
        return sim_graph_run(n->child, launch, ready);
    op.stream = launch->stream;
    op.correlation = launch->correlation;
    op.graph = graph;
    op.graph_node = n->id;
    return sim_execute(&op, ready);
}

/* Nodes may be in any order: each round runs those whose dependencies have run. */
uint64_t sim_graph_run(struct sim_graph *graph, const struct sim_op *launch, uint64_t ready)
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

void sim_exec_drop(struct sim_graph_exec *exec)
{
    if (--exec->holders)
        return;
    sim_graph_free(exec->graph);
    free(exec);
}

static xcu_result instantiate(struct sim_graph_exec **out, struct sim_graph *graph, unsigned flags)
{
    struct sim_graph_exec *e;

    if (!out || !sim_handle_is(graph, SIM_GRAPH) || graph->capturing)
        return XCU_ERROR_INVALID_VALUE;
    e = calloc(1, sizeof(*e));
    if (e)
        e->graph = sim_graph_copy(graph);
    if (!e || !e->graph || !sim_handle_add(e, SIM_GRAPH_EXEC)) {
        if (e && e->graph)
            sim_graph_free(e->graph);
        free(e);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    e->graph->id = graph->id; /* activity is reported under the id of what was instantiated */
    e->flags = flags;
    e->holders = 1;
    *out = e;
    return XCU_SUCCESS;
}

SIM_API(cuGraphInstantiate, SIM_CTX,
        (struct sim_graph_exec * *out, xcu_graph graph, xcu_graph_node *bad, char *log,
         size_t bytes),
        (out, graph, bad, log, bytes))
{
    return instantiate(out, graph, 0);
}

SIM_API(cuGraphInstantiate_v2, SIM_CTX,
        (struct sim_graph_exec * *out, xcu_graph graph, xcu_graph_node *bad, char *log,
         size_t bytes),
        (out, graph, bad, log, bytes))
{
    return instantiate(out, graph, 0);
}

SIM_API(cuGraphInstantiateWithFlags, SIM_CTX,
        (struct sim_graph_exec * *out, xcu_graph graph, unsigned long long flags),
        (out, graph, flags))
{
    return instantiate(out, graph, (unsigned)flags);
}

struct instantiate_params { /* CUDA_GRAPH_INSTANTIATE_PARAMS */
    uint64_t flags;
    xcu_stream upload;
    xcu_graph_node bad;
    int result;
};

SIM_API_PT(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz, SIM_CTX,
           (struct sim_graph_exec * *out, xcu_graph graph, struct instantiate_params *params),
           (out, graph, params))
{
    xcu_result r;

    if (!params)
        return XCU_ERROR_INVALID_VALUE;
    r = instantiate(out, graph, (unsigned)params->flags);
    params->result = r != 0;
    params->bad = NULL;
    return r;
}

SIM_API_PT(cuGraphLaunch, cuGraphLaunch_ptsz, SIM_CTX | SIM_TIMED,
           (xcu_graph_exec exec, xcu_stream stream), (exec, stream))
{
    struct sim_op op = {.kind = SIM_OP_GRAPH, .u.exec = exec, .asynchronous = true};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    sim_advance(sim_settings.submit_ns);
    if (!r && !sim_handle_is(exec, SIM_GRAPH_EXEC))
        r = XCU_ERROR_INVALID_VALUE;
    return r ? r : sim_submit(s, &op);
}

SIM_API_PT(cuGraphUpload, cuGraphUpload_ptsz, SIM_CTX, (xcu_graph_exec exec, xcu_stream stream),
           (exec, stream))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    return !r && !sim_handle_is(exec, SIM_GRAPH_EXEC) ? XCU_ERROR_INVALID_VALUE : r;
}

SIM_API(cuGraphExecDestroy, SIM_INIT, (xcu_graph_exec exec), (exec))
{
    if (!sim_handle_is(exec, SIM_GRAPH_EXEC))
        return XCU_ERROR_INVALID_VALUE;
    sim_handle_remove(exec);
    sim_exec_drop(exec);
    return XCU_SUCCESS;
}

SIM_API(cuGraphExecGetFlags, SIM_INIT, (struct sim_graph_exec * exec, uint64_t *flags),
        (exec, flags))
{
    if (!flags || !sim_handle_is(exec, SIM_GRAPH_EXEC))
        return XCU_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return XCU_SUCCESS;
}

/* ---- changing an executable graph ---------------------------------------------------------- */

static struct sim_node *node_in(struct sim_graph_exec *exec, const struct sim_node *node, int type)
{
    if (!sim_handle_is(exec, SIM_GRAPH_EXEC) || !sim_handle_is(node, SIM_NODE))
        return NULL;
    for (size_t i = 0; i < exec->graph->count; i++)
        if (exec->graph->nodes[i]->original == node &&
            (type < 0 || exec->graph->nodes[i]->type == type))
            return exec->graph->nodes[i];
    return NULL;
}

static xcu_result set_copy(struct sim_node *n, const struct xcu_memcpy3d *what)
{
    struct sim_op op = {.kind = SIM_OP_COPY, .asynchronous = true};
    xcu_result r;

    if (!n || !what)
        return XCU_ERROR_INVALID_VALUE;
    op.u.copy.count = 1;
    r = sim_copy_of(what, &op.u.copy.one);
    if (r)
        return r;
    op.cost = sim_copy_cost(&op.u.copy.one);
    sim_op_drop(&n->op);
    n->op = op;
    n->copy = *what;
    n->described = true;
    return XCU_SUCCESS;
}

SIM_API(cuGraphExecMemcpyNodeSetParams, SIM_CTX,
        (struct sim_graph_exec * exec, xcu_graph_node node, const struct xcu_memcpy3d *what,
         xcu_context context),
        (exec, node, what, context))
{
    return set_copy(node_in(exec, node, XCU_NODE_MEMCPY), what);
}

SIM_API(cuGraphNodeSetEnabled, SIM_INIT,
        (struct sim_graph_exec * exec, xcu_graph_node node, unsigned enabled),
        (exec, node, enabled))
{
    struct sim_node *n = node_in(exec, node, -1);

    if (!n)
        return XCU_ERROR_INVALID_VALUE;
    n->disabled = !enabled;
    return XCU_SUCCESS;
}

SIM_API(cuGraphNodeGetEnabled, SIM_INIT,
        (struct sim_graph_exec * exec, xcu_graph_node node, unsigned *enabled),
        (exec, node, enabled))
{
    struct sim_node *n = node_in(exec, node, -1);

    if (!n || !enabled)
        return XCU_ERROR_INVALID_VALUE;
    *enabled = !n->disabled;
    return XCU_SUCCESS;
}

/* CUgraphExecUpdateResult: 0 success, 1 error, 2 topology changed. */
static xcu_result update(struct sim_graph_exec *exec, struct sim_graph *graph, int *result)
{
    struct sim_graph *fresh;

    if (!sim_handle_is(exec, SIM_GRAPH_EXEC) || !sim_handle_is(graph, SIM_GRAPH))
        return XCU_ERROR_INVALID_VALUE;
    *result = exec->graph->count == graph->count ? 0 : 2;
    for (size_t i = 0; !*result && i < graph->count; i++)
        if (graph->nodes[i]->type != exec->graph->nodes[i]->type)
            *result = 3;
    if (*result)
        return 910; /* CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE */
    fresh = sim_graph_copy(graph);
    if (!fresh)
        return XCU_ERROR_OUT_OF_MEMORY;
    fresh->id = exec->graph->id;
    for (size_t i = 0; i < fresh->count; i++) /* the program goes on naming the old nodes */
        fresh->nodes[i]->original = exec->graph->nodes[i]->original;
    sim_graph_free(exec->graph);
    exec->graph = fresh;
    return XCU_SUCCESS;
}

SIM_API(cuGraphExecUpdate, SIM_INIT,
        (struct sim_graph_exec * exec, xcu_graph graph, xcu_graph_node *bad, int *result),
        (exec, graph, bad, result))
{
    return result ? update(exec, graph, result) : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphExecUpdate_v2, SIM_INIT, (struct sim_graph_exec * exec, xcu_graph graph, int *info),
        (exec, graph, info))
{
    return info ? update(exec, graph, info) : XCU_ERROR_INVALID_VALUE;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static bool are_nodes(const struct sim_graph *graph, struct sim_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sim_handle_is(nodes[i], SIM_NODE) || nodes[i]->graph != graph)
            return false;
    return !count || nodes;
}

static xcu_result add(struct sim_node **out, struct sim_graph *graph, int type,
                      struct sim_node *const *deps, size_t count)
{
    if (!out || !sim_handle_is(graph, SIM_GRAPH) || !are_nodes(graph, deps, count))
        return XCU_ERROR_INVALID_VALUE;
    *out = sim_graph_add(graph, type, deps, count);
    return *out ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

/* Takes the node back when what it should do is refused. */
static xcu_result keep_if(struct sim_node **node, xcu_result r)
{
    if (r) {
        (*node)->graph->count--;
        node_free(*node);
        *node = NULL;
    }
    return r;
}

SIM_API(cuGraphCreate, SIM_INIT, (xcu_graph * out, unsigned flags), (out, flags))
{
    if (!out || flags)
        return XCU_ERROR_INVALID_VALUE;
    *out = sim_graph_new();
    return *out ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

SIM_API(cuGraphDestroy, SIM_INIT, (struct sim_graph * graph), (graph))
{
    if (!sim_handle_is(graph, SIM_GRAPH) || graph->capturing || graph->owned)
        return XCU_ERROR_INVALID_VALUE;
    sim_graph_free(graph);
    return XCU_SUCCESS;
}

SIM_API(cuGraphClone, SIM_INIT, (xcu_graph * out, xcu_graph graph), (out, graph))
{
    if (!out || !sim_handle_is(graph, SIM_GRAPH))
        return XCU_ERROR_INVALID_VALUE;
    *out = sim_graph_copy(graph);
    return *out ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

SIM_API(cuGraphAddMemcpyNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, const struct xcu_memcpy3d *what, xcu_context context),
        (out, graph, deps, count, what, context))
{
    xcu_result r = add(out, graph, XCU_NODE_MEMCPY, deps, count);

    return r ? r : keep_if(out, set_copy(*out, what));
}

SIM_API(cuGraphMemcpyNodeSetParams, SIM_INIT,
        (struct sim_node * node, const struct xcu_memcpy3d *what), (node, what))
{
    return set_copy(sim_handle_is(node, SIM_NODE) && node->type == XCU_NODE_MEMCPY ? node : NULL,
                    what);
}

static void describe_side(const struct sim_side *s, int *type, const void **host,
                          xcu_deviceptr *device, size_t *pitch, size_t *height)
{
    *type = s->device < 0 ? XCU_MEMORY_HOST : XCU_MEMORY_DEVICE;
    *host = s->device < 0 ? s->start : NULL;
    *device = s->device < 0 ? 0 : (xcu_deviceptr)s->start;
    *pitch = s->pitch;
    *height = s->pitch ? s->slice / s->pitch : 0;
}

/* What a captured copy would have been described as. */
static struct xcu_memcpy3d describe(const struct sim_copy *c)
{
    struct xcu_memcpy3d w = {.width = c->width, .height = c->height, .depth = c->depth};
    const void *host;

    describe_side(&c->src, &w.src_type, &w.src_host, &w.src_device, &w.src_pitch, &w.src_height);
    describe_side(&c->dst, &w.dst_type, &host, &w.dst_device, &w.dst_pitch, &w.dst_height);
    w.dst_host = (void *)host;
    return w;
}

SIM_API(cuGraphMemcpyNodeGetParams, SIM_INIT, (struct sim_node * node, struct xcu_memcpy3d *what),
        (node, what))
{
    if (!sim_handle_is(node, SIM_NODE) || node->type != XCU_NODE_MEMCPY || !what)
        return XCU_ERROR_INVALID_VALUE;
    *what = node->described ? node->copy : describe(&node->op.u.copy.one);
    return XCU_SUCCESS;
}

static xcu_result set_fill(struct sim_node *n, const struct xcu_memset_node *what)
{
    struct sim_op op = {.kind = SIM_OP_MEMSET, .asynchronous = true};
    struct xcu_offset origin = {0, 0, 0};
    struct sim_copy shape;
    struct sim_side side;
    xcu_result r;

    if (!what || (what->element_bytes != 1 && what->element_bytes != 2 && what->element_bytes != 4))
        return XCU_ERROR_INVALID_VALUE;
    shape = (struct sim_copy){
        .width = what->width * what->element_bytes, .height = what->height, .depth = 1};
    r = sim_side_pitched(&side, (void *)what->dst, what->pitch, 0, &origin, &shape,
                         SIM_DEVICE_SIDE);
    if (r)
        return r;
    op.u.fill = (struct sim_fill){side.start,  side.pitch,          what->width, what->height,
                                  what->value, what->element_bytes, side.device};
    op.cost = sim_fill_cost(shape.width * shape.height, side.device);
    n->op = op;
    n->memset = *what;
    return XCU_SUCCESS;
}

SIM_API(cuGraphAddMemsetNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, const struct xcu_memset_node *what, xcu_context context),
        (out, graph, deps, count, what, context))
{
    xcu_result r = add(out, graph, XCU_NODE_MEMSET, deps, count);

    return r ? r : keep_if(out, set_fill(*out, what));
}

static xcu_result set_kernel(struct sim_node *n, const struct xcu_kernel_node *what)
{
    struct sim_op op = {.kind = SIM_OP_KERNEL, .asynchronous = true};
    struct sim_function *f;
    xcu_result r;

    if (!what)
        return XCU_ERROR_INVALID_VALUE;
    f = what->function;
    if (!sim_handle_is(f, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    op.u.kernel.function = f;
    memcpy(op.u.kernel.grid, what->grid, sizeof(op.u.kernel.grid));
    memcpy(op.u.kernel.block, what->block, sizeof(op.u.kernel.block));
    r = sim_kernel_params(&op.u.kernel, what->params);
    op.u.kernel.deferred = true;
    if (!r)
        n->op = op;
    return r;
}

SIM_API(cuGraphAddKernelNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, const struct xcu_kernel_node *what),
        (out, graph, deps, count, what))
{
    xcu_result r = add(out, graph, XCU_NODE_KERNEL, deps, count);

    return r ? r : keep_if(out, set_kernel(*out, what));
}

SIM_API(cuGraphAddKernelNode_v2, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, const struct xcu_kernel_node *what),
        (out, graph, deps, count, what))
{
    xcu_result r = add(out, graph, XCU_NODE_KERNEL, deps, count);

    return r ? r : keep_if(out, set_kernel(*out, what));
}

SIM_API(cuGraphAddHostNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, const struct xcu_host_node *what),
        (out, graph, deps, count, what))
{
    xcu_result r = what && what->function ? add(out, graph, XCU_NODE_HOST, deps, count)
                                          : XCU_ERROR_INVALID_VALUE;

    if (!r) {
        (*out)->op.kind = SIM_OP_HOST;
        (*out)->op.u.host.function = what->function;
        (*out)->op.u.host.user = what->user;
    }
    return r;
}

SIM_API(cuGraphAddEmptyNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count),
        (out, graph, deps, count))
{
    return add(out, graph, XCU_NODE_EMPTY, deps, count);
}

SIM_API(cuGraphAddChildGraphNode, SIM_INIT,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, struct sim_graph *child),
        (out, graph, deps, count, child))
{
    xcu_result r = sim_handle_is(child, SIM_GRAPH) ? add(out, graph, XCU_NODE_GRAPH, deps, count)
                                                   : XCU_ERROR_INVALID_VALUE;

    if (r)
        return r;
    (*out)->child = sim_graph_copy(child);
    if ((*out)->child)
        (*out)->child->owned = true;
    return keep_if(out, (*out)->child ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY);
}

SIM_API(cuGraphChildGraphNodeGetGraph, SIM_INIT, (struct sim_node * node, xcu_graph *out),
        (node, out))
{
    if (!sim_handle_is(node, SIM_NODE) || !node->child || !out)
        return XCU_ERROR_INVALID_VALUE;
    *out = node->child;
    return XCU_SUCCESS;
}

SIM_API(cuGraphNodeGetType, SIM_INIT, (struct sim_node * node, int *type), (node, type))
{
    if (!sim_handle_is(node, SIM_NODE) || !type)
        return XCU_ERROR_INVALID_VALUE;
    *type = node->type;
    return XCU_SUCCESS;
}

static xcu_result list(struct sim_node *const *all, size_t have, struct sim_node **nodes,
                       size_t *count)
{
    if (!count)
        return XCU_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < have ? all[i] : NULL;
    if (!nodes || *count > have)
        *count = have;
    return XCU_SUCCESS;
}

SIM_API(cuGraphGetNodes, SIM_INIT,
        (struct sim_graph * graph, struct sim_node **nodes, size_t *count), (graph, nodes, count))
{
    return sim_handle_is(graph, SIM_GRAPH) ? list(graph->nodes, graph->count, nodes, count)
                                           : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphGetRootNodes, SIM_INIT,
        (struct sim_graph * graph, struct sim_node **nodes, size_t *count), (graph, nodes, count))
{
    struct sim_deps roots = {0};
    xcu_result r = XCU_ERROR_INVALID_VALUE;

    if (!sim_handle_is(graph, SIM_GRAPH))
        return r;
    for (size_t i = 0; i < graph->count; i++)
        if (!graph->nodes[i]->deps.count && !sim_deps_add(&roots, graph->nodes[i]))
            break;
    r = list(roots.nodes, roots.count, nodes, count);
    sim_deps_clear(&roots);
    return r;
}

static xcu_result dependencies(struct sim_node *node, struct sim_node **nodes, size_t *count)
{
    return sim_handle_is(node, SIM_NODE) ? list(node->deps.nodes, node->deps.count, nodes, count)
                                         : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphNodeGetDependencies, SIM_INIT,
        (struct sim_node * node, struct sim_node **nodes, size_t *count), (node, nodes, count))
{
    return dependencies(node, nodes, count);
}

SIM_API(cuGraphNodeGetDependencies_v2, SIM_INIT,
        (struct sim_node * node, struct sim_node **nodes, void *edges, size_t *count),
        (node, nodes, edges, count))
{
    return dependencies(node, nodes, count);
}

static xcu_result add_dependencies(struct sim_graph *graph, struct sim_node *const *from,
                                   struct sim_node *const *to, size_t count)
{
    if (!sim_handle_is(graph, SIM_GRAPH) || !are_nodes(graph, from, count) ||
        !are_nodes(graph, to, count))
        return XCU_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (from[i] == to[i] || !sim_deps_add(&to[i]->deps, from[i]))
            return XCU_ERROR_INVALID_VALUE;
    return XCU_SUCCESS;
}

SIM_API(cuGraphAddDependencies, SIM_INIT,
        (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to,
         size_t count),
        (graph, from, to, count))
{
    return add_dependencies(graph, from, to, count);
}

SIM_API(cuGraphAddDependencies_v2, SIM_INIT,
        (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to,
         const void *edges, size_t count),
        (graph, from, to, edges, count))
{
    return add_dependencies(graph, from, to, count);
}
