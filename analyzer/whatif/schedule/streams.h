/*
 * When the work that a process gave to its streams, CUDA events and GPUs is done. There is one for
 * the run as recorded (recorded.c), and one for each schedule of it (schedule.c). Both fill it in
 * the order of calls. Times are ns. Private to whatif/.
 *
 * Zeroed at first. Streams and events that a change made up are numbered from
 * XFW_FIRST_SIDE_STREAM and XFW_FIRST_SIDE_EVENT on (schedule.h).
 */
#ifndef XFW_STREAMS_H
#define XFW_STREAMS_H

#include <stddef.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/schedule/schedule.h"

struct xfw_stream_ends {
    double end;    /* of all its work so far */
    double hard;   /* of its work without the copies of one engine that it ends with */
    int8_t engine; /* of these copies: enum xfw_engine; XFW_NO_ENGINE: it ends with other work */
    double *ends;  /* of its last XFW_OUTSTANDING operations, a ring once there are as many */
    size_t capacity;
    uint64_t count;
    double late, later; /* ends of two of them: the first of the last half, and of that before */
};

struct xfw_streams {
    struct xfw_gpu_ends {
        double legacy, blocking, all; /* the last end in such streams, and in any */
    } gpus[XFW_GPUS];
    struct xfw_stream_ends *streams, *sides; /* the process's, those that changes made up */
    size_t stream_count, stream_capacity, side_count, side_capacity;
    double *events, *side_events; /* when what was recorded last in each is done */
    size_t event_count, event_capacity, side_event_count, side_event_capacity;
};
void xfw_streams_free(struct xfw_streams *streams);

/* ---- its parts: made when first asked for, valid until the next one is made ------------------ */

/* Number `index` of streams->whats. */
#define XFW_STREAMS_PART(streams, what, index)                                                     \
    (&((index) < (streams)->what##_count                                                           \
           ? (streams)->what##s                                                                    \
           : ((streams)->what##s = xfa_grown((streams)->what##s, &(streams)->what##_capacity,      \
                                             &(streams)->what##_count, (index),                    \
                                             sizeof *(streams)->what##s)))[index])

static inline struct xfw_stream_ends *xfw_streams_of(struct xfw_streams *streams, uint32_t stream)
{
    return stream >= XFW_FIRST_SIDE_STREAM
               ? XFW_STREAMS_PART(streams, side, stream - XFW_FIRST_SIDE_STREAM)
               : XFW_STREAMS_PART(streams, stream, stream);
}

/* The end of a stream's work, and of what an event recorded: read and written by the caller. */
static inline double *xfw_streams_end(struct xfw_streams *streams, uint32_t stream)
{
    return &xfw_streams_of(streams, stream)->end;
}
static inline double *xfw_streams_event(struct xfw_streams *streams, uint32_t event)
{
    return event >= XFW_FIRST_SIDE_EVENT
               ? XFW_STREAMS_PART(streams, side_event, event - XFW_FIRST_SIDE_EVENT)
               : XFW_STREAMS_PART(streams, event, event);
}

/* The end of all work of a GPU's streams. */
static inline double xfw_streams_gpu(const struct xfw_streams *streams, int gpu)
{
    return streams->gpus[xfw_place_of_gpu(gpu)].all;
}

/* Of all GPUs. */
double xfw_streams_all(const struct xfw_streams *streams);

/* ---- what is asked and noted ----------------------------------------------------------------- */

/* When the work before the op in its stream is done, by the legacy stream's rules, too. */
static inline double xfw_streams_ready(struct xfw_streams *streams, const struct xfw_op *op)
{
    const struct xfw_gpu_ends *gpu = &streams->gpus[xfw_place_of_gpu(op->gpu)];
    double end = xfw_streams_of(streams, op->stream)->end;
    if (op->stream_kind == XFW_LEGACY)
        end = xfw_max(end, gpu->blocking);
    else if (op->stream_kind == XFW_BLOCKING)
        end = xfw_max(end, gpu->legacy);
    return end;
}

/* When a wait of the host for the op's stream is over: what the stream was given is done. Work that
 * it will be given waits for the legacy stream, who waits for it now does not. */
static inline double xfw_streams_done(struct xfw_streams *streams, const struct xfw_op *op)
{
    return op->stream_kind == XFW_LEGACY ? xfw_streams_ready(streams, op)
                                         : xfw_streams_of(streams, op->stream)->end;
}

/* As xfw_streams_ready(), for a copy, without the copies of the same engine that it follows in its
 * stream: the engine takes them one after the other, and a part of its time may pass meanwhile
 * (lead_ns). */
double xfw_streams_before(struct xfw_streams *streams, const struct xfw_op *op);

/* The op's work is done at `end`. */
void xfw_streams_note(struct xfw_streams *streams, const struct xfw_op *op, double end);
/* The op's stream waits for the op's event. Who waits for the stream or its GPU then waits for the
 * event, too, whether or not the stream is given more work. */
void xfw_streams_wait(struct xfw_streams *streams, const struct xfw_op *op);
/* Work that was noted before is done at `end`, or later: of an op with that stream and GPU. */
void xfw_streams_until(struct xfw_streams *streams, const struct xfw_op *op, double end);
/* Work of the stream that was noted to end at `before` ends at `end`. */
void xfw_streams_put_off(struct xfw_streams *streams, int gpu, uint32_t stream, double before,
                         double end);

/* The end of the operation that is XFW_OUTSTANDING - `later` before the next one; -INFINITY: the
 * stream has not had as many. */
static inline double xfw_streams_outstanding(struct xfw_streams *streams, uint32_t number,
                                             unsigned later)
{
    const struct xfw_stream_ends *stream = xfw_streams_of(streams, number);
    return stream->count >= XFW_OUTSTANDING
               ? stream->ends[(stream->count + later) % XFW_OUTSTANDING]
               : -INFINITY;
}

/* When the stream's queue has room for an operation that is submitted at `ready`. Ends only grow,
 * so `late` answers most questions without a look at the ring. */
static inline double xfw_streams_room(struct xfw_streams *streams, uint32_t number, double ready)
{
    const struct xfw_stream_ends *stream = xfw_streams_of(streams, number);
    return stream->count < XFW_OUTSTANDING || stream->late <= ready
               ? ready
               : xfw_max(ready, stream->ends[stream->count % XFW_OUTSTANDING]);
}

/* ---- host functions that streams called ------------------------------------------------------ */

#define XFW_HOST_CALLS 64 /* remembered, the last ones */

struct xfw_host_calls { /* a ring, zeroed at first */
    struct xfw_host_call {
        uint64_t number; /* of the op, + 1; 0: none */
        double at;
        double done; /* the job that it gave on (jobs.h) */
    } calls[XFW_HOST_CALLS];
    unsigned count;   /* so far */
    double jobs_done; /* what they gave on: one thread does one after the other */
};

/* The stream called the function of this op at `at`. */
void xfw_host_calls_note(struct xfw_host_calls *calls, const struct xfw_op *op, double at);
/* The call of the op with this number, + 1; the last call by `before`. NULL: none is remembered. */
const struct xfw_host_call *xfw_host_calls_find(const struct xfw_host_calls *calls,
                                                uint64_t number);
const struct xfw_host_call *xfw_host_calls_last(const struct xfw_host_calls *calls, double before);

#endif
