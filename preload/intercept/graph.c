#include "preload/intercept/graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "preload/base/check.h"
#include "preload/base/own_stack.h"
#include "preload/content/verify.h"
#include "preload/intercept/hook.h"
#include "preload/lookup/driver.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"

struct copy {
    xcu_graph_node node;
    xcu_graph_node parent; /* the child-graph node of the launched graph that holds it, or NULL */
    bool enabled;
    struct xft_event event; /* what a launch transfers; the launch's own fields are 0 */
};

struct graph {
    struct graph *next;
    xcu_graph_exec exec;
    size_t count, capacity;
    struct copy *copies;
    bool conditional;
    uint32_t nodes; /* of all kinds, those of child graphs included */
    uint64_t form;  /* hash of their kinds, in the driver's order */
};

/* Memory that an allocation node of a graph allocates: the driver does not know it before the first
 * launch. Its address is the same in all launches, and other graphs copy to it, too. */
struct owned {
    struct owned *next;
    xcu_graph_exec exec;
    struct xfs_range range;
};
static struct owned *all_owned;

#define MOST_DEPTH 32
#define BUCKETS 256
static struct graph *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct graph **find(xcu_graph_exec exec)
{
    uint64_t key = XFS_ADDR(exec);
    struct graph **link = &buckets[(key >> 4 ^ key >> 12) % BUCKETS];
    while (*link && (*link)->exec != exec)
        link = &(*link)->next;
    return link;
}

/* ---- walking ----------------------------------------------------------------------------- */

static struct xft_event event_of(const struct xcu_memcpy3d *copy)
{
    struct xfs_frame frame = {0};
    xfs_copy_3d(&frame, copy);
    pthread_mutex_lock(&lock);
    for (const struct owned *own = all_owned; own; own = own->next)
        xfs_copy_in_memory(&frame.event, &own->range);
    pthread_mutex_unlock(&lock);
    return frame.event;
}

static void own(xcu_graph_exec exec, const struct xcu_alloc_node *node)
{
    const struct xcu_location *where = &node->pool.location;
    struct owned *fresh = where->type == XCU_LOCATION_DEVICE ? malloc(sizeof *fresh) : NULL;
    if (fresh == NULL)
        return;
    fresh->exec = exec;
    fresh->range = (struct xfs_range){node->address, node->address + node->bytes,
                                      (int16_t)where->id, XFT_MEM_DEVICE};
    pthread_mutex_lock(&lock);
    fresh->next = all_owned;
    all_owned = fresh;
    pthread_mutex_unlock(&lock);
}

/* Lock held. */
static void disown(xcu_graph_exec exec)
{
    for (struct owned **link = &all_owned, *own; (own = *link) != NULL;) {
        if (own->exec == exec) {
            *link = own->next;
            free(own);
        } else {
            link = &own->next;
        }
    }
}

static void remember(struct graph *graph, xcu_graph_node node, xcu_graph_node parent,
                     const struct xcu_memcpy3d *copy)
{
    if (xfc_grow(&graph->copies, &graph->capacity, graph->count, sizeof *graph->copies))
        graph->copies[graph->count++] = (struct copy){node, parent, true, event_of(copy)};
}

/* The driver functions that describe a graph. */
struct questions {
    xcu_result (*nodes)(xcu_graph, xcu_graph_node *, size_t *);
    xcu_result (*type)(xcu_graph_node, int *);
    xcu_result (*copy)(xcu_graph_node, struct xcu_memcpy3d *);
    xcu_result (*child)(xcu_graph_node, xcu_graph *);
    xcu_result (*memory)(xcu_graph_node, struct xcu_alloc_node *); /* since 11.4, or NULL */
};

static bool prepare(struct questions *ask)
{
    ask->nodes = (__typeof__(ask->nodes))xfs_driver_symbol("cuGraphGetNodes");
    ask->type = (__typeof__(ask->type))xfs_driver_symbol("cuGraphNodeGetType");
    ask->copy = (__typeof__(ask->copy))xfs_driver_symbol("cuGraphMemcpyNodeGetParams");
    ask->child = (__typeof__(ask->child))xfs_driver_symbol("cuGraphChildGraphNodeGetGraph");
    ask->memory = (__typeof__(ask->memory))xfs_driver_symbol("cuGraphMemAllocNodeGetParams");
    return ask->nodes && ask->type && ask->copy && ask->child;
}

static void walk_memory(const struct questions *ask, struct graph *graph, xcu_graph source,
                        int depth);
static void walk(const struct questions *ask, struct graph *graph, xcu_graph source,
                 xcu_graph_node parent, int depth);

/* A node that allocates or frees memory, which copies may use. */
static void visit_memory(const struct questions *ask, struct graph *graph, xcu_graph_node node,
                         int depth)
{
    int type = -1;
    struct xcu_alloc_node memory;
    xcu_graph child;
    if (ask->type(node, &type) != XCU_SUCCESS)
        return;
    if (type == XCU_NODE_MEM_ALLOC && ask->memory(node, &memory) == XCU_SUCCESS)
        own(graph->exec, &memory);
    else if (type == XCU_NODE_GRAPH && ask->child(node, &child) == XCU_SUCCESS)
        walk_memory(ask, graph, child, depth + 1);
}

static void visit(const struct questions *ask, struct graph *graph, xcu_graph_node node,
                  xcu_graph_node parent, int depth)
{
    int type = -1;
    struct xcu_memcpy3d copy;
    xcu_graph child;
    if (ask->type(node, &type) != XCU_SUCCESS)
        return;
    graph->nodes++;
    graph->form = (graph->form ^ (uint64_t)(type + 1)) * 0x100000001b3; /* FNV-1a's prime */
    if (type == XCU_NODE_MEMCPY && ask->copy(node, &copy) == XCU_SUCCESS)
        remember(graph, node, parent, &copy);
    else if (type == XCU_NODE_GRAPH && ask->child(node, &child) == XCU_SUCCESS)
        walk(ask, graph, child, parent ? parent : node, depth + 1);
    else if (type == XCU_NODE_CONDITIONAL)
        graph->conditional = true;
}

/* The nodes of a graph, for free(); NULL when there are none. */
static xcu_graph_node *nodes_of(const struct questions *ask, xcu_graph source, size_t *count)
{
    *count = 0;
    if (ask->nodes(source, NULL, count) != XCU_SUCCESS || *count == 0)
        return NULL;
    xcu_graph_node *nodes = calloc(*count, sizeof *nodes);
    if (nodes && ask->nodes(source, nodes, count) != XCU_SUCCESS)
        *count = 0;
    return nodes;
}

static void walk_memory(const struct questions *ask, struct graph *graph, xcu_graph source,
                        int depth)
{
    size_t count;
    xcu_graph_node *nodes =
        depth <= MOST_DEPTH && ask->memory ? nodes_of(ask, source, &count) : NULL;
    for (size_t i = 0; nodes && i < count; i++)
        visit_memory(ask, graph, nodes[i], depth);
    free(nodes);
}

static void walk(const struct questions *ask, struct graph *graph, xcu_graph source,
                 xcu_graph_node parent, int depth)
{
    size_t count;
    xcu_graph_node *nodes = depth <= MOST_DEPTH ? nodes_of(ask, source, &count) : NULL;
    for (size_t i = 0; nodes && i < count; i++)
        visit(ask, graph, nodes[i], parent, depth);
    free(nodes);
}

/* ---- made, changed, gone -------------------------------------------------------------------- */

static void release(struct graph *graph)
{
    free(graph->copies);
    free(graph);
}

/* Arguments for work on a stack of our own: child graphs nest. */
struct change {
    xcu_graph_exec exec;
    xcu_graph_node node;
    xcu_graph source;
    const struct xcu_memcpy3d *copy;
    uint32_t nodes; /* of a graph that was looked at */
    uint64_t form;
};

static void gone(xcu_graph_exec exec)
{
    pthread_mutex_lock(&lock);
    struct graph **link = find(exec), *graph = *link;
    if (graph) {
        *link = graph->next;
        release(graph);
    }
    disown(exec);
    pthread_mutex_unlock(&lock);
}

static void take_out(void *arguments)
{
    gone(((const struct change *)arguments)->exec);
}

/* Graphs without copies are stored too when they contain copies that cannot be counted. */
static void put_in(void *arguments)
{
    struct change *made = arguments;
    struct questions ask;
    struct graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return;
    graph->exec = made->exec;
    gone(made->exec);
    if (prepare(&ask)) {
        walk_memory(&ask, graph, made->source, 0);
        walk(&ask, graph, made->source, NULL, 0);
    }
    made->nodes = graph->nodes;
    made->form = graph->form;
    if (graph->count == 0 && !graph->conditional) {
        release(graph);
        return;
    }
    pthread_mutex_lock(&lock);
    struct graph **link = find(made->exec);
    graph->next = *link;
    *link = graph;
    pthread_mutex_unlock(&lock);
}

/* ---- calls about executable graphs ----------------------------------------------------------- */

void xfs_graph_call_returned(struct xfs_frame *f, int status, bool outermost)
{
    if (outermost) {
        xfs_returned(f, status);
    } else {
        f->early = XFS_INNER;
        f->event.status = status;
    }
}

static void describe(struct xfs_frame *f, enum xft_graph_call what, const struct change *about)
{
    struct xft_event *e = &f->event;
    bool failed = e->status != 0;
    if (f->early == XFS_INNER || (failed && what != XFT_GRAPH_UPDATED))
        return;
    e->kind = XFT_EVENT_GRAPH_CALL;
    e->flags |= failed ? XFT_FAILED : 0;
    e->aux = what;
    e->src = XFS_ADDR(about->exec);
    e->dst = XFS_ADDR(about->source);
    e->count = about->nodes;
    e->width = about->form;
    e->src_place = e->dst_place = XFT_PLACE_UNKNOWN;
    e->device = XFT_PLACE_UNKNOWN;
}

void xfs_graph_made(struct xfs_frame *f, xcu_graph_exec exec, xcu_graph source,
                    enum xft_graph_call what)
{
    struct change made = {.exec = exec, .source = source};
    uint64_t from_ns = xfs_now_apart_ns();
    if (f->event.status == 0)
        xfs_on_any_stack(put_in, &made);
    describe(f, what, &made);
    if (f->event.status != 0)
        return;
    if (f->early == XFS_INNER)
        xfs_cost_took(XFT_OVERHEAD_GRAPH, from_ns);
    else
        xfs_cost_unusual(XFT_OVERHEAD_GRAPH);
}

void xfs_graph_gone(struct xfs_frame *f, xcu_graph_exec exec)
{
    struct change gone = {.exec = exec};
    if (f->event.status == 0)
        xfs_on_any_stack(take_out, &gone);
    describe(f, XFT_GRAPH_DESTROYED, &gone);
}

static void exchange_copy(void *arguments)
{
    const struct change *change = arguments;
    struct xft_event event = event_of(change->copy); /* asks the driver: not under the lock */
    pthread_mutex_lock(&lock);
    struct graph *graph = *find(change->exec);
    for (size_t i = 0; graph && i < graph->count; i++)
        if (graph->copies[i].node == change->node)
            graph->copies[i].event = event;
    pthread_mutex_unlock(&lock);
}

void xfs_graph_copy_changed(xcu_graph_exec exec, xcu_graph_node node,
                            const struct xcu_memcpy3d *copy)
{
    xfs_on_any_stack(exchange_copy, &(struct change){.exec = exec, .node = node, .copy = copy});
}

void xfs_graph_node_changed(xcu_graph_exec exec, xcu_graph_node node,
                            const struct xcu_node_params *params)
{
    if (params->type == XCU_NODE_MEMCPY)
        xfs_graph_copy_changed(exec, node, &params->u.memcpy.copy);
    else if (params->type == XCU_NODE_GRAPH)
        xfs_graph_child_changed(exec, node, params->u.child.graph);
}

static void exchange_child(void *arguments)
{
    const struct change *change = arguments;
    struct questions ask;
    struct graph fresh = {.exec = change->exec};
    if (!prepare(&ask))
        return;
    walk_memory(&ask, &fresh, change->source, 1);
    walk(&ask, &fresh, change->source, change->node, 1);
    pthread_mutex_lock(&lock);
    struct graph *graph = *find(change->exec);
    /* The topology is unchanged by contract: the same copies in the same order. */
    for (size_t i = 0, j = 0; graph && i < graph->count && j < fresh.count; i++)
        if (graph->copies[i].parent == change->node)
            graph->copies[i].event = fresh.copies[j++].event;
    pthread_mutex_unlock(&lock);
    free(fresh.copies);
}

void xfs_graph_child_changed(xcu_graph_exec exec, xcu_graph_node node, xcu_graph child)
{
    xfs_on_any_stack(exchange_child, &(struct change){.exec = exec, .node = node, .source = child});
}

void xfs_graph_node_enabled(xcu_graph_exec exec, xcu_graph_node node, unsigned enabled)
{
    pthread_mutex_lock(&lock);
    struct graph *graph = *find(exec);
    for (size_t i = 0; graph && i < graph->count; i++)
        if (graph->copies[i].node == node)
            graph->copies[i].enabled = enabled != 0;
    pthread_mutex_unlock(&lock);
}

void xfs_graph_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    all_owned = NULL;
    memset(buckets, 0,
           sizeof buckets); /* not freed: the child shares the pages until it writes to them */
}

/* ---- launches -------------------------------------------------------------------------------- */

void xfs_graph_launch(struct xfs_frame *f, xcu_graph_exec exec)
{
    if (f->event.status != 0)
        return;
    f->event.kind = XFT_EVENT_GRAPH_LAUNCH;
    f->event.src = XFS_ADDR(exec);
    f->launched = exec;
    if (xfs_verify_on())
        xfs_verify_unknown();
    pthread_mutex_lock(&lock);
    const struct graph *graph = *find(exec);
    for (size_t i = 0; graph && i < graph->count; i++)
        f->event.count += graph->copies[i].enabled;
    f->event.aux = graph ? graph->conditional : 0;
    pthread_mutex_unlock(&lock);
}

void xfs_graph_transfers(const struct xfs_frame *launch, void (*publish)(const struct xft_event *))
{
    const struct xft_event *call = &launch->event;
    uint32_t written = 0;
    pthread_mutex_lock(&lock);
    const struct graph *graph = *find(launch->launched);
    for (size_t i = 0; graph && i < graph->count; i++) {
        if (!graph->copies[i].enabled)
            continue;
        struct xft_event event = graph->copies[i].event;
        event.start_ns = call->start_ns;
        event.end_ns = call->end_ns;
        event.stream = call->stream;
        event.stack = call->stack;
        event.correlation = call->correlation;
        event.call = call->call;
        event.flags |= call->flags | XFT_GRAPH;
        publish(&event);
        written++;
    }
    pthread_mutex_unlock(&lock);
    XFS_EXPECT(written == call->count, "a launched graph has other copies than its launch says");
}
