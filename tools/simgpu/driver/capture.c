/*
 * Stream capture: operations become nodes of a graph instead of being run.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/graph.h"

struct sim_capture *sim_captures;

static uint64_t capture_ids;
static struct sim_capture *ended; /* events may still point to them */

bool sim_deps_add(struct sim_deps *deps, struct sim_node *node)
{
    size_t room = deps->room ? deps->room * 2 : 4;
    struct sim_node **bigger;

    for (size_t i = 0; i < deps->count; i++)
        if (deps->nodes[i] == node)
            return true;
    if (deps->count == deps->room) {
        bigger = realloc(deps->nodes, room * sizeof(*bigger));
        if (!bigger)
            return false;
        deps->nodes = bigger;
        deps->room = room;
    }
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

/* ---- what capture forbids ------------------------------------------------------------------ */

static xcu_result invalidate(struct sim_capture *capture, xcu_result why)
{
    capture->invalid = true;
    return why;
}

xcu_result sim_capture_forbids(struct sim_stream *stream)
{
    if (stream->capture)
        return invalidate(stream->capture, XCU_ERROR_CAPTURE_UNSUPPORTED);
    if (stream->flags & SIM_STREAM_NON_BLOCKING || stream != stream->context->legacy)
        return XCU_SUCCESS;
    for (struct sim_capture *c = sim_captures; c; c = c->next)
        if (c->mode == 0 && c->origin->context == stream->context &&
            !(c->origin->flags & SIM_STREAM_NON_BLOCKING))
            return invalidate(c, XCU_ERROR_CAPTURE_IMPLICIT);
    return XCU_SUCCESS;
}

/* Calls that could act on a captured stream behind its back: refused by global captures of any
 * thread and thread-local ones of this thread, unless the thread asked to be relaxed. */
xcu_result sim_capture_unsafe(void)
{
    for (struct sim_capture *c = sim_captures; c; c = c->next) {
        bool mine = c->thread == sim_thread_id();

        if (sim_thread.capture_mode == 2 || c->mode == 2)
            continue;
        if (mine || (c->mode == 0 && sim_thread.capture_mode == 0))
            return invalidate(c, XCU_ERROR_CAPTURE_UNSUPPORTED);
    }
    return XCU_SUCCESS;
}

/* ---- nodes from operations ------------------------------------------------------------------ */

static int node_type(const struct sim_op *op)
{
    switch (op->kind) {
    case SIM_OP_COPY:
        return XCU_NODE_MEMCPY;
    case SIM_OP_MEMSET:
        return XCU_NODE_MEMSET;
    case SIM_OP_KERNEL:
        return XCU_NODE_KERNEL;
    case SIM_OP_HOST:
        return XCU_NODE_HOST;
    case SIM_OP_GRAPH_ALLOC:
        return XCU_NODE_MEM_ALLOC;
    case SIM_OP_GRAPH_FREE:
        return XCU_NODE_MEM_FREE;
    default:
        return XCU_NODE_EMPTY;
    }
}

static xcu_result append_one(struct sim_stream *stream, const struct sim_op *op,
                             struct sim_deps *after)
{
    struct sim_node *node = sim_graph_add(stream->capture->graph, node_type(op), stream->deps.nodes,
                                          stream->deps.count);

    if (!node)
        return XCU_ERROR_OUT_OF_MEMORY;
    node->op = *op;
    node->op.asynchronous = true;
    if (!sim_op_keep(&node->op) || !sim_deps_add(after, node))
        return XCU_ERROR_OUT_OF_MEMORY;
    return XCU_SUCCESS;
}

xcu_result sim_capture_append(struct sim_stream *stream, struct sim_op *op)
{
    struct sim_deps after = {0};
    struct sim_op one = *op;
    xcu_result r = XCU_SUCCESS;

    if (stream->capture->invalid)
        return XCU_ERROR_CAPTURE_INVALIDATED;
    if (op->kind == SIM_OP_PREFETCH || op->kind == SIM_OP_WRITE || op->kind == SIM_OP_GRAPH)
        return invalidate(stream->capture, XCU_ERROR_CAPTURE_UNSUPPORTED);
    if (op->kind == SIM_OP_COPY) {
        one.u.copy.count = 1;
        for (size_t i = 0; !r && i < op->u.copy.count; i++) {
            one.u.copy.one = op->u.copy.count > 1 ? op->u.copy.list[i] : op->u.copy.one;
            one.cost = sim_copy_cost(&one.u.copy.one);
            r = append_one(stream, &one, &after);
        }
    } else {
        r = append_one(stream, &one, &after);
    }
    sim_deps_clear(&stream->deps);
    stream->deps = after;
    return r;
}

xcu_result sim_capture_record(struct sim_stream *stream, struct sim_event *event)
{
    if (stream->capture->invalid)
        return XCU_ERROR_CAPTURE_INVALIDATED;
    sim_deps_clear(&event->deps);
    event->capture = stream->capture;
    return sim_deps_merge(&event->deps, &stream->deps) ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

/* Waiting for a captured event draws a stream into the capture. */
xcu_result sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
    if (!event->capture)
        return event->mark ? invalidate(stream->capture, XCU_ERROR_CAPTURE_ISOLATION) : XCU_SUCCESS;
    if (event->capture->ended)
        return XCU_ERROR_CAPTURED_EVENT;
    if (stream->capture && stream->capture != event->capture)
        return invalidate(stream->capture, XCU_ERROR_CAPTURE_ISOLATION);
    if (stream == stream->context->legacy)
        return invalidate(event->capture, XCU_ERROR_CAPTURE_IMPLICIT);
    stream->capture = event->capture;
    return sim_deps_merge(&stream->deps, &event->deps) ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

/* ---- begin and end ------------------------------------------------------------------------- */

static xcu_result begin(xcu_stream handle, struct sim_graph *into, int mode)
{
    struct sim_capture *c;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(handle, &s);

    if (r)
        return r;
    if (s == s->context->legacy)
        return XCU_ERROR_CAPTURE_UNSUPPORTED;
    if (mode < 0 || mode > 2)
        return XCU_ERROR_INVALID_VALUE;
    if (s->capture)
        return XCU_ERROR_INVALID_VALUE;
    c = calloc(1, sizeof(*c));
    if (c)
        c->graph = into ? into : sim_graph_new();
    if (!c || !c->graph) {
        free(c);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    c->graph->capturing = true;
    c->origin = s;
    c->into = into != NULL;
    c->id = ++capture_ids;
    c->mode = mode;
    c->thread = sim_thread_id();
    c->next = sim_captures;
    sim_captures = c;
    s->capture = c;
    return XCU_SUCCESS;
}

SIM_API_PT(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, SIM_CTX, (xcu_stream stream), (stream))
{
    return begin(stream, NULL, 0);
}

SIM_API_PT(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, SIM_CTX,
           (xcu_stream stream, int mode), (stream, mode))
{
    return begin(stream, NULL, mode);
}

SIM_API_PT(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_graph graph, const xcu_graph_node *deps, const void *edges,
            size_t count, int mode),
           (stream, graph, deps, edges, count, mode))
{
    struct sim_stream *s;
    xcu_result r =
        sim_handle_is(graph, SIM_GRAPH) ? begin(stream, graph, mode) : XCU_ERROR_INVALID_VALUE;

    if (!r)
        r = sim_stream_of(stream, &s);
    for (size_t i = 0; !r && i < count; i++)
        r = sim_handle_is(deps[i], SIM_NODE) && sim_deps_add(&s->deps, deps[i])
                ? XCU_SUCCESS
                : XCU_ERROR_INVALID_VALUE;
    return r;
}

/* Is every node of the capture before the origin's next one? */
static bool joined(const struct sim_capture *c)
{
    for (const struct sim_stream *s = c->origin->context->streams; s; s = s->next) {
        if (s->capture != c || s == c->origin)
            continue;
        for (size_t i = 0; i < s->deps.count; i++) {
            bool before = false;

            for (size_t j = 0; j < c->origin->deps.count; j++)
                before |= c->origin->deps.nodes[j] == s->deps.nodes[i];
            for (size_t n = 0; n < c->graph->count; n++)
                for (size_t j = 0; j < c->graph->nodes[n]->deps.count; j++)
                    before |= c->graph->nodes[n]->deps.nodes[j] == s->deps.nodes[i];
            if (!before)
                return false;
        }
    }
    return true;
}

static void capture_end(struct sim_capture *c)
{
    struct sim_capture **at = &sim_captures;

    for (struct sim_context *x = sim_contexts; x; x = x->next)
        for (struct sim_stream *s = x->streams; s; s = s->next)
            if (s->capture == c) {
                s->capture = NULL;
                sim_deps_clear(&s->deps);
            }
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->graph->capturing = false;
    c->ended = true;
    c->next = ended;
    ended = c;
}

void sim_capture_forget(struct sim_stream *stream)
{
    if (stream->capture && stream->capture->origin == stream)
        capture_end(stream->capture);
    stream->capture = NULL;
}

SIM_API_PT(cuStreamEndCapture, cuStreamEndCapture_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_graph *out), (stream, out))
{
    struct sim_capture *c;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r)
        return r;
    c = s->capture;
    if (!c || !out)
        return XCU_ERROR_INVALID_VALUE;
    if (c->origin != s)
        return XCU_ERROR_CAPTURE_UNMATCHED;
    if (c->mode != 2 && c->thread != sim_thread_id())
        return XCU_ERROR_CAPTURE_WRONG_THREAD;
    r = c->invalid  ? XCU_ERROR_CAPTURE_INVALIDATED
        : joined(c) ? XCU_SUCCESS
                    : XCU_ERROR_CAPTURE_UNJOINED;
    capture_end(c);
    *out = r ? NULL : c->graph;
    if (r && !c->into)
        sim_graph_free(c->graph);
    return r;
}

static int status_of(const struct sim_stream *s)
{
    if (!s->capture)
        return XCU_CAPTURE_NONE;
    return s->capture->invalid ? XCU_CAPTURE_INVALIDATED : XCU_CAPTURE_ACTIVE;
}

SIM_API_PT(cuStreamIsCapturing, cuStreamIsCapturing_ptsz, SIM_CTX, (xcu_stream stream, int *status),
           (stream, status))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !status)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *status = status_of(s);
    return r;
}

static xcu_result info(xcu_stream stream, int *status, uint64_t *id, xcu_graph *graph,
                       struct sim_node ***deps, size_t *count)
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !status)
        r = XCU_ERROR_INVALID_VALUE;
    if (r)
        return r;
    *status = status_of(s);
    if (*status != XCU_CAPTURE_ACTIVE)
        return XCU_SUCCESS;
    if (id)
        *id = s->capture->id;
    if (graph)
        *graph = s->capture->graph;
    if (deps)
        *deps = s->deps.nodes;
    if (count)
        *count = s->deps.count;
    return XCU_SUCCESS;
}

SIM_API_PT(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz, SIM_CTX,
           (xcu_stream stream, int *status, uint64_t *id), (stream, status, id))
{
    return info(stream, status, id, NULL, NULL, NULL);
}

SIM_API_PT(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz, SIM_CTX,
           (xcu_stream stream, int *status, uint64_t *id, xcu_graph *graph, struct sim_node ***deps,
            size_t *count),
           (stream, status, id, graph, deps, count))
{
    return info(stream, status, id, graph, deps, count);
}

SIM_API_PT(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz, SIM_CTX,
           (xcu_stream stream, int *status, uint64_t *id, xcu_graph *graph, struct sim_node ***deps,
            const void **edges, size_t *count),
           (stream, status, id, graph, deps, edges, count))
{
    if (edges)
        *edges = NULL;
    return info(stream, status, id, graph, deps, count);
}

SIM_API(cuThreadExchangeStreamCaptureMode, SIM_INIT, (int *mode), (mode))
{
    int before = sim_thread.capture_mode;

    if (!mode || *mode < 0 || *mode > 2)
        return XCU_ERROR_INVALID_VALUE;
    sim_thread.capture_mode = *mode;
    *mode = before;
    return XCU_SUCCESS;
}
