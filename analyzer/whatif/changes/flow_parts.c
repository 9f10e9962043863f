/* Which part of the work a stream, and its thread, is in (flow.h). */
#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/flow.h"

struct xfw_flow_stream *xfw_flow_stream(struct xfw_flow *state, uint32_t number)
{
    if (number >= state->stream_count)
        state->streams = xfa_grown(state->streams, &state->stream_capacity, &state->stream_count,
                                   number, sizeof *state->streams);
    return &state->streams[number];
}

uint64_t *xfw_flow_parts(struct xfw_flow *state, const struct xfw_flow_stream *stream)
{
    return &xfw_put_off_of(&state->threads, stream->parts.thread)->parts;
}

double xfw_flow_end_behind(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           const struct xfw_flow_stream *stream, uint64_t part)
{
    uint64_t of_thread = *xfw_flow_parts(state, stream);
    return xfw_parts_end(&stream->parts, part,
                         xfw_parts_behind(&stream->parts, of_thread, flow->terms.buffers));
}

double xfw_flow_filled_behind(const struct xfw_dataflow *flow, struct xfw_flow *state,
                              const struct xfw_flow_stream *stream, uint64_t part)
{
    uint64_t of_thread = *xfw_flow_parts(state, stream);
    unsigned before = xfw_parts_behind(&stream->parts, of_thread, flow->terms.buffers);
    double filled = part > before ? stream->parts.filled[(part - before) % XFW_PARTS] : 0;
    return filled > 0 ? filled : xfw_parts_end(&stream->parts, part, before);
}

double xfw_flow_may_begin(const struct xfw_dataflow *flow, const struct xfw_flow_stream *stream,
                          uint64_t part)
{
    return xfw_parts_end(&stream->parts, part,
                         xfw_parts_in_flight(&stream->parts, flow->terms.buffers));
}
