#include "analyzer/whatif/ends.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define PART(ends, what, index)                                                                    \
    (&((index) < (ends)->what##_count                                                              \
           ? (ends)->what##s                                                                       \
           : ((ends)->what##s =                                                                    \
                  xfa_grown((ends)->what##s, &(ends)->what##_capacity, &(ends)->what##_count,      \
                            (index), sizeof *(ends)->what##s)))[index])

static struct xfw_stream_ends *stream_at(struct xfw_ends *ends, uint32_t number)
{
    if (number >= XFW_FIRST_SIDE_STREAM)
        return PART(ends, side, number - XFW_FIRST_SIDE_STREAM);
    return PART(ends, stream, number);
}

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

double xfw_ends_ready(struct xfw_ends *ends, const struct xfw_op *op)
{
    const struct xfw_gpu_ends *gpu = &ends->gpus[xfw_place_of_gpu(op->gpu)];
    double end = stream_at(ends, op->stream)->end;
    if (op->stream_kind == XFW_LEGACY)
        end = fmax(end, gpu->blocking);
    else if (op->stream_kind == XFW_BLOCKING)
        end = fmax(end, gpu->legacy);
    return end;
}

static void note_of_gpu(struct xfw_ends *ends, const struct xfw_op *op, double end)
{
    struct xfw_gpu_ends *gpu = &ends->gpus[xfw_place_of_gpu(op->gpu)];
    if (op->stream_kind == XFW_LEGACY)
        gpu->legacy = fmax(gpu->legacy, end);
    else if (op->stream_kind == XFW_BLOCKING)
        gpu->blocking = fmax(gpu->blocking, end);
    gpu->all = fmax(gpu->all, end);
}

void xfw_ends_note(struct xfw_ends *ends, const struct xfw_op *op, double end)
{
    struct xfw_stream_ends *stream = stream_at(ends, op->stream);
    stream->end = fmax(stream->end, end);
    if (!stream->ends)
        stream->ends = xfa_alloc(XFW_OUTSTANDING * sizeof *stream->ends);
    stream->ends[stream->count++ % XFW_OUTSTANDING] = stream->end;
    note_of_gpu(ends, op, end);
}

void xfw_ends_wait(struct xfw_ends *ends, const struct xfw_op *op)
{
    double event = *xfw_ends_event(ends, op->event);
    struct xfw_stream_ends *stream = stream_at(ends, op->stream);
    if (event > stream->end) {
        stream->end = event;
        note_of_gpu(ends, op, event);
    }
}

void xfw_ends_put_off(struct xfw_ends *ends, int gpu, uint32_t number, double before, double end)
{
    struct xfw_stream_ends *stream = stream_at(ends, number);
    struct xfw_gpu_ends *of = &ends->gpus[xfw_place_of_gpu(gpu)];
    if (stream->end == before)
        stream->end = end;
    of->all = fmax(of->all, end);
}

double xfw_ends_outstanding(struct xfw_ends *ends, uint32_t number, unsigned later)
{
    const struct xfw_stream_ends *stream = stream_at(ends, number);
    return stream->count >= XFW_OUTSTANDING
               ? stream->ends[(stream->count + later) % XFW_OUTSTANDING]
               : -INFINITY;
}

double *xfw_ends_stream(struct xfw_ends *ends, uint32_t stream)
{
    return &stream_at(ends, stream)->end;
}

double *xfw_ends_event(struct xfw_ends *ends, uint32_t event)
{
    if (event >= XFW_FIRST_SIDE_EVENT)
        return PART(ends, side_event, event - XFW_FIRST_SIDE_EVENT);
    return PART(ends, event, event);
}

double xfw_ends_gpu(const struct xfw_ends *ends, int gpu)
{
    return ends->gpus[xfw_place_of_gpu(gpu)].all;
}
