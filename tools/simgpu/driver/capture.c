/*
 * Stream capture: begin, end, state.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/streams.h"

static uint64_t capture_ids;

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

/* Every node of the capture comes before the next one of the stream in which it began. */
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
    sim_capture_end(c);
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
