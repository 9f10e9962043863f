#include "tools/simgpu/gpu/capture.h"

struct sim_capture *sim_captures;

static struct sim_capture *ended; /* events may still point to them */

/* ---- what capture forbids ---------------------------------------------------------------- */

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

/* Global captures of any thread and thread-local ones of this thread refuse such calls, unless the
 * thread has asked to be relaxed. */
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

xcu_result sim_capture_forbids_wait(const struct sim_context *context)
{
    xcu_result r = XCU_SUCCESS;
    for (struct sim_capture *c = sim_captures; c; c = c->next)
        if (c->origin->context == context)
            r = invalidate(c, XCU_ERROR_CAPTURE_UNSUPPORTED);
    return r;
}

/* ---- nodes from operations --------------------------------------------------------------- */

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

/* A stream that waits for a captured event becomes part of the capture. */
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

/* ---- end --------------------------------------------------------------------------------- */

void sim_capture_end(struct sim_capture *c)
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
        sim_capture_end(stream->capture);
    stream->capture = NULL;
}
