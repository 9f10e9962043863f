/*
 * Executable graphs: made, launched, changed.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/driver/parts.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

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
    sim_advance(sim_settings.instantiate_ns * graph->count);
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

SIM_API(cuGraphExecMemcpyNodeSetParams, SIM_CTX,
        (struct sim_graph_exec * exec, xcu_graph_node node, const struct xcu_memcpy3d *what,
         xcu_context context),
        (exec, node, what, context))
{
    return sim_node_set_copy(node_in(exec, node, XCU_NODE_MEMCPY), what);
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
    sim_advance(sim_settings.update_ns * graph->count);
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
