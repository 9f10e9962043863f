/*
 * Memory for parts in flight: page-locked buffers beyond those that the program has, which it pays
 * for before it begins.
 */
#include "analyzer/whatif/changes/flow.h"

#include "analyzer/whatif/changes/overlap.h"
#include "xferscope/trace.h"

/* A program has its buffers before it begins: the thread, and all that it has submitted, are as
 * much later. */
static void begin_later(struct xfw_flow *state, struct xfw_player *player, struct xfw_op *op,
                        double ns)
{
    if (!(ns > 0))
        return;
    struct xfw_op lock = xfw_op_like(op);
    lock.kind = XFT_EVENT_REGISTER;
    lock.own_ns = ns;
    xfw_player_play_before(player, &lock, op);
    xfw_put_off_later(xfw_put_off_of(&state->threads, op->thread), ns);
    for (size_t i = 0; i < state->stream_count; i++) {
        struct xfw_flow_stream *stream = &state->streams[i];
        if (stream->parts.thread != op->thread || stream->parts.shared || !stream->parts.part)
            continue;
        xfw_all_later(player, (uint32_t)i, ns);
        stream->work_end += ns;
        xfw_parts_later(&stream->parts, ns);
    }
}

uint64_t xfw_flow_bytes_of_rows(const struct xfw_spans *spans, const struct xfw_more_use *use)
{
    uint64_t allocated = xfw_spans_allocation(spans, use->first);
    return allocated > use->bytes ? allocated : use->bytes;
}

void xfw_flow_have_buffers(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           struct xfw_player *player, struct xfw_op *op,
                           const struct xfw_more_use *use)
{
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    if (use->bytes > 0)
        begin_later(state, player, op,
                    xfw_more_buffers_ns(&state->more_buffers, &stream->parts.runs[use->to_host],
                                        &flow->change.analysis->achievable, use,
                                        xfw_parts_share(&stream->parts, flow->terms.buffers),
                                        xfw_player_certainty(player)));
}

void xfw_flow_note_memory(struct xfw_flow *state, const struct xfw_op *op)
{
    if (!state->maps_none)
        xfw_memories_op(&state->memories, op);
    if (op->kind == XFT_EVENT_ALLOC) {
        xfw_spans_allocated(&state->spans, op->dst, op->bytes);
        state->maps = state->maps || op->memory == XFT_MEM_MAPPED;
    } else if (op->kind == XFT_EVENT_FREE) {
        xfw_spans_freed(&state->spans, op->dst);
        if (op->memory != XFT_MEM_DEVICE) /* else it is no buffer of the host */
            xfw_more_buffers_freed(&state->more_buffers, op->dst);
    }
}

/* ---- kernels that read over the link --------------------------------------------------------- */

/* The k-th pointer that the kernel was given is of such memory. */
static bool is_mapped(const struct xfw_flow *state, uint64_t pointer, struct xfw_memory *memory)
{
    return xfw_memories_find(&state->memories, pointer, memory) && memory->kind == XFT_MEM_MAPPED;
}

bool xfw_flow_reads_host(struct xfw_flow *state, const struct xfw_player *player,
                         const struct xfw_op *op)
{
    uint64_t pointer;
    struct xfw_memory memory;
    for (uint32_t k = 0; state->maps && op->what == XFW_KERNEL &&
                         xfw_launch_pointer(xfw_player_process(player), op->arguments, k, &pointer);
         k++)
        if (is_mapped(state, pointer, &memory))
            return true;
    return false;
}

void xfw_flow_have_mapped(const struct xfw_dataflow *flow, struct xfw_flow *state,
                          struct xfw_player *player, struct xfw_op *op, uint64_t part)
{
    uint64_t pointer;
    struct xfw_memory memory;
    for (uint32_t k = 0; xfw_launch_pointer(xfw_player_process(player), op->arguments, k, &pointer);
         k++) {
        if (!is_mapped(state, pointer, &memory))
            continue;
        const struct xfw_more_use use = {
            memory.first, memory.end - memory.first, part, op->stream, -1, op->gpu, false};
        xfw_flow_have_buffers(flow, state, player, op, &use);
    }
}
