#include "analyzer/whatif/ends.h"

#include <stdlib.h>

void xfw_ends_free(struct xfw_ends *ends)
{
    for (size_t i = 0; i < ends->stream_count; i++)
        free(ends->streams[i].ends);
    for (size_t i = 0; i < ends->side_count; i++)
        free(ends->sides[i].ends);
    free(ends->streams);
    free(ends->sides);
    free(ends->events);
    free(ends->side_events);
}

static void note_of_gpu(struct xfw_ends *ends, const struct xfw_op *op, double end)
{
    struct xfw_gpu_ends *gpu = &ends->gpus[xfw_place_of_gpu(op->gpu)];
    if (op->stream_kind == XFW_LEGACY)
        gpu->legacy = xfw_max(gpu->legacy, end);
    else if (op->stream_kind == XFW_BLOCKING)
        gpu->blocking = xfw_max(gpu->blocking, end);
    gpu->all = xfw_max(gpu->all, end);
}

void xfw_ends_note(struct xfw_ends *ends, const struct xfw_op *op, double end)
{
    struct xfw_stream_ends *stream = xfw_ends_of(ends, op->stream);
    stream->end = xfw_max(stream->end, end);
    if (!stream->ends)
        stream->ends = xfa_alloc(XFW_OUTSTANDING * sizeof *stream->ends);
    if (stream->count % (XFW_OUTSTANDING / 2) == 0) {
        stream->late = stream->later;
        stream->later = stream->end;
    }
    stream->ends[stream->count++ % XFW_OUTSTANDING] = stream->end;
    note_of_gpu(ends, op, end);
}

void xfw_ends_wait(struct xfw_ends *ends, const struct xfw_op *op)
{
    double event = *xfw_ends_event(ends, op->event);
    struct xfw_stream_ends *stream = xfw_ends_of(ends, op->stream);
    if (event > stream->end) {
        stream->end = event;
        note_of_gpu(ends, op, event);
    }
}

void xfw_ends_put_off(struct xfw_ends *ends, int gpu, uint32_t number, double before, double end)
{
    struct xfw_stream_ends *stream = xfw_ends_of(ends, number);
    struct xfw_gpu_ends *of = &ends->gpus[xfw_place_of_gpu(gpu)];
    if (stream->end == before)
        stream->end = end;
    of->all = xfw_max(of->all, end);
}
