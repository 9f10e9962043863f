/*
 * Nodes of graphs: added one by one, asked for what they do.
 */
#include "tools/simgpu/driver/parts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/memory.h"

xcu_result sim_node_set_copy(struct sim_node *n, const struct xcu_memcpy3d *what)
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

/* Frees the node when its description was refused. */
static xcu_result keep_if(struct sim_node **node, xcu_result r)
{
    if (r) {
        (*node)->graph->count--;
        sim_node_free(*node);
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

    return r ? r : keep_if(out, sim_node_set_copy(*out, what));
}

SIM_API(cuGraphMemcpyNodeSetParams, SIM_INIT,
        (struct sim_node * node, const struct xcu_memcpy3d *what), (node, what))
{
    return sim_node_set_copy(
        sim_handle_is(node, SIM_NODE) && node->type == XCU_NODE_MEMCPY ? node : NULL, what);
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

/* The description of a captured copy. */
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
    r = sim_kernel_params(&op.u.kernel, what->params, NULL);
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

/* The address is the same in every launch. */
static xcu_result set_alloc(struct sim_node *n, struct xcu_alloc_node *what)
{
    const struct xcu_location *where = &what->pool.location;
    xcu_result r;

    if (what->pool.type != 1 || where->type != XCU_LOCATION_DEVICE || where->id < 0 ||
        where->id >= sim_device_count)
        return XCU_ERROR_INVALID_VALUE;
    r = sim_device_alloc(where->id, what->bytes, SIM_RANGE_ASYNC | SIM_RANGE_GRAPH,
                         sim_default_pool(where->id), &what->address);
    if (!r)
        n->op = (struct sim_op){.kind = SIM_OP_GRAPH_ALLOC, .u.address = what->address};
    return r;
}

SIM_API(cuGraphAddMemAllocNode, SIM_CTX,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, struct xcu_alloc_node *what),
        (out, graph, deps, count, what))
{
    xcu_result r =
        what ? add(out, graph, XCU_NODE_MEM_ALLOC, deps, count) : XCU_ERROR_INVALID_VALUE;

    return r ? r : keep_if(out, set_alloc(*out, what));
}

SIM_API(cuGraphMemAllocNodeGetParams, SIM_INIT,
        (struct sim_node * node, struct xcu_alloc_node *what), (node, what))
{
    const struct sim_range *range;

    if (!sim_handle_is(node, SIM_NODE) || node->type != XCU_NODE_MEM_ALLOC || !what)
        return XCU_ERROR_INVALID_VALUE;
    range = sim_range_at((void *)node->op.u.address);
    *what =
        (struct xcu_alloc_node){.address = node->op.u.address, .bytes = range ? range->bytes : 0};
    what->pool.type = 1;
    what->pool.location = (struct xcu_location){XCU_LOCATION_DEVICE, range ? range->device : 0};
    return XCU_SUCCESS;
}

SIM_API(cuGraphAddMemFreeNode, SIM_CTX,
        (struct sim_node * *out, struct sim_graph *graph, struct sim_node *const *deps,
         size_t count, xcu_deviceptr address),
        (out, graph, deps, count, address))
{
    const struct sim_range *range = sim_range_at((void *)address);
    xcu_result r = range && (xcu_deviceptr)range->start == address
                       ? add(out, graph, XCU_NODE_MEM_FREE, deps, count)
                       : XCU_ERROR_INVALID_VALUE;

    if (!r)
        (*out)->op = (struct sim_op){.kind = SIM_OP_GRAPH_FREE, .u.address = address};
    return r;
}

SIM_API(cuGraphMemFreeNodeGetParams, SIM_INIT, (struct sim_node * node, xcu_deviceptr *address),
        (node, address))
{
    if (!sim_handle_is(node, SIM_NODE) || node->type != XCU_NODE_MEM_FREE || !address)
        return XCU_ERROR_INVALID_VALUE;
    *address = node->op.u.address;
    return XCU_SUCCESS;
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
