#include "tools/simgpu/gpu/op.h"

#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

/* ---- operations -------------------------------------------------------------------------- */

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

struct sim_engine *sim_engine_between(int from, int to)
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
        copy = sim_op_copies(op);
        return sim_engine_between(copy->src.device, copy->dst.device);
    }
    return NULL;
}

/* ---- what nodes depend on ---------------------------------------------------------------- */

bool sim_deps_add(struct sim_deps *deps, struct sim_node *node)
{
    for (size_t i = 0; i < deps->count; i++)
        if (deps->nodes[i] == node)
            return true;
    if (!xfc_grow(&deps->nodes, &deps->room, deps->count, sizeof(struct sim_node *)))
        return false;
    deps->nodes[deps->count++] = node;
    return true;
}

bool sim_deps_merge(struct sim_deps *deps, const struct sim_deps *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (!sim_deps_add(deps, more->nodes[i]))
            return false;
    return true;
}

void sim_deps_clear(struct sim_deps *deps)
{
    free(deps->nodes);
    *deps = (struct sim_deps){0};
}

/* ---- graphs ------------------------------------------------------------------------------ */

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

void sim_node_free(struct sim_node *n)
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
        sim_node_free(graph->nodes[i]);
    sim_handle_remove(graph);
    free(graph->nodes);
    free(graph);
}

struct sim_node *sim_graph_add(struct sim_graph *graph, int type, struct sim_node *const *deps,
                               size_t count)
{
    struct sim_node *n = calloc(1, sizeof(*n));

    if (!n || !xfc_grow(&graph->nodes, &graph->room, graph->count, sizeof(struct sim_node *)) ||
        !sim_handle_add(n, SIM_NODE)) {
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

void sim_exec_drop(struct sim_graph_exec *exec)
{
    if (--exec->holders)
        return;
    sim_graph_free(exec->graph);
    free(exec);
}
