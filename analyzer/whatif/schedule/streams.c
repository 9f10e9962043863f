#include "analyzer/whatif/schedule/streams.h"

#include <stdlib.h>

void xfw_streams_free(struct xfw_streams *streams)
{
    for (size_t i = 0; i < streams->stream_count; i++)
        free(streams->streams[i].ends);
    for (size_t i = 0; i < streams->side_count; i++)
        free(streams->sides[i].ends);
    free(streams->streams);
    free(streams->sides);
    free(streams->events);
    free(streams->side_events);
}

static void note_of_gpu(struct xfw_streams *streams, const struct xfw_op *op, double end)
{
    struct xfw_gpu_ends *gpu = &streams->gpus[xfw_place_of_gpu(op->gpu)];
    if (op->stream_kind == XFW_LEGACY)
        gpu->legacy = xfw_max(gpu->legacy, end);
    else if (op->stream_kind == XFW_BLOCKING)
        gpu->blocking = xfw_max(gpu->blocking, end);
    gpu->all = xfw_max(gpu->all, end);
}

double xfw_streams_all(const struct xfw_streams *streams)
{
    double end = 0;
    for (size_t i = 0; i < XFW_GPUS; i++)
        end = xfw_max(end, streams->gpus[i].all);
    return end;
}

static int8_t copy_engine(const struct xfw_op *op)
{
    return (int8_t)(op->exclusive && op->what == XFW_COPY ? xfw_op_engine(op) : XFW_NO_ENGINE);
}

double xfw_streams_before(struct xfw_streams *streams, const struct xfw_op *op)
{
    const struct xfw_gpu_ends *gpu = &streams->gpus[xfw_place_of_gpu(op->gpu)];
    const struct xfw_stream_ends *stream = xfw_streams_of(streams, op->stream);
    bool follows = stream->engine != XFW_NO_ENGINE && stream->engine == copy_engine(op);
    double end = follows ? stream->hard : stream->end;
    if (op->stream_kind == XFW_LEGACY)
        end = xfw_max(end, gpu->blocking);
    else if (op->stream_kind == XFW_BLOCKING)
        end = xfw_max(end, gpu->legacy);
    return end;
}

void xfw_streams_note(struct xfw_streams *streams, const struct xfw_op *op, double end)
{
    struct xfw_stream_ends *stream = xfw_streams_of(streams, op->stream);
    int8_t engine = copy_engine(op);
    if (engine == XFW_NO_ENGINE || engine != stream->engine)
        stream->hard = stream->end;
    stream->engine = engine;
    stream->end = xfw_max(stream->end, end);
    if (stream->count < XFW_OUTSTANDING) /* most streams are given fewer */
        stream->ends = xfa_room(stream->ends, &stream->capacity, (size_t)stream->count + 1,
                                sizeof *stream->ends);
    if (stream->count % (XFW_OUTSTANDING / 2) == 0) {
        stream->late = stream->later;
        stream->later = stream->end;
    }
    stream->ends[stream->count++ % XFW_OUTSTANDING] = stream->end;
    note_of_gpu(streams, op, end);
}

void xfw_streams_wait(struct xfw_streams *streams, const struct xfw_op *op)
{
    xfw_streams_until(streams, op, *xfw_streams_event(streams, op->event));
}

void xfw_streams_until(struct xfw_streams *streams, const struct xfw_op *op, double end)
{
    struct xfw_stream_ends *stream = xfw_streams_of(streams, op->stream);
    stream->hard = xfw_max(stream->hard, end);
    if (end > stream->end) {
        stream->end = end;
        note_of_gpu(streams, op, end);
    }
}

void xfw_streams_put_off(struct xfw_streams *streams, int gpu, uint32_t number, double before,
                         double end)
{
    struct xfw_stream_ends *stream = xfw_streams_of(streams, number);
    struct xfw_gpu_ends *of = &streams->gpus[xfw_place_of_gpu(gpu)];
    if (stream->end == before)
        stream->end = end;
    of->all = xfw_max(of->all, end);
}

/* ---- host functions that streams called ------------------------------------------------------ */

void xfw_host_calls_note(struct xfw_host_calls *calls, const struct xfw_op *op, double at)
{
    double done = at;
    if (op->job_ns > 0)
        done = calls->jobs_done = xfw_max(calls->jobs_done, at) + op->job_ns;
    calls->calls[calls->count++ % XFW_HOST_CALLS] =
        (struct xfw_host_call){op->number + 1, at, done};
}

const struct xfw_host_call *xfw_host_calls_find(const struct xfw_host_calls *calls, uint64_t number)
{
    for (unsigned i = 0; i < XFW_HOST_CALLS && number; i++)
        if (calls->calls[i].number == number)
            return &calls->calls[i];
    return NULL;
}

const struct xfw_host_call *xfw_host_calls_last(const struct xfw_host_calls *calls, double before)
{
    const struct xfw_host_call *last = NULL;
    for (unsigned i = 0; i < XFW_HOST_CALLS; i++) {
        const struct xfw_host_call *call = &calls->calls[i];
        if (call->number && call->at <= before && (!last || call->at > last->at))
            last = call;
    }
    return last;
}
