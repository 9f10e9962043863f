/*
 * When what a process gave to streams is done, kept as it is submitted: by the record (recorded.c),
 * or by a schedule of it. Private to whatif/.
 *
 * Zeroed at first. Streams and events that a change made up (schedule.h) are numbered from
 * XFW_FIRST_SIDE_STREAM and XFW_FIRST_SIDE_EVENT on.
 */
#ifndef XFW_ENDS_H
#define XFW_ENDS_H

#include <stddef.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/op.h"
#include "analyzer/whatif/schedule.h"

struct xfw_stream_ends {
    double end;
    double *ends; /* of the last XFW_OUTSTANDING operations, a ring; NULL: none */
    uint64_t count;
    double late, later; /* of two of them, the first of the last half and of that before it */
};

struct xfw_ends {
    struct xfw_gpu_ends {
        double legacy, blocking, all; /* of work in these streams, in any */
    } gpus[XFW_GPUS];
    struct xfw_stream_ends *streams, *sides; /* the process's, those that changes made up */
    size_t stream_count, stream_capacity, side_count, side_capacity;
    double *events, *side_events;
    size_t event_count, event_capacity, side_event_count, side_event_capacity;
};
void xfw_ends_free(struct xfw_ends *ends);

/* ---- its parts, made as they are met, which last until the next one is made ------------------ */

/* Number `index` of ends->whats. */
#define XFW_ENDS_PART(ends, what, index)                                                           \
    (&((index) < (ends)->what##_count                                                              \
           ? (ends)->what##s                                                                       \
           : ((ends)->what##s =                                                                    \
                  xfa_grown((ends)->what##s, &(ends)->what##_capacity, &(ends)->what##_count,      \
                            (index), sizeof *(ends)->what##s)))[index])

static inline struct xfw_stream_ends *xfw_ends_of(struct xfw_ends *ends, uint32_t stream)
{
    return stream >= XFW_FIRST_SIDE_STREAM
               ? XFW_ENDS_PART(ends, side, stream - XFW_FIRST_SIDE_STREAM)
               : XFW_ENDS_PART(ends, stream, stream);
}

/* To be read and written. */
static inline double *xfw_ends_stream(struct xfw_ends *ends, uint32_t stream)
{
    return &xfw_ends_of(ends, stream)->end;
}
static inline double *xfw_ends_event(struct xfw_ends *ends, uint32_t event)
{
    return event >= XFW_FIRST_SIDE_EVENT
               ? XFW_ENDS_PART(ends, side_event, event - XFW_FIRST_SIDE_EVENT)
               : XFW_ENDS_PART(ends, event, event);
}

/* All of a GPU's streams. */
static inline double xfw_ends_gpu(const struct xfw_ends *ends, int gpu)
{
    return ends->gpus[xfw_place_of_gpu(gpu)].all;
}

/* ---- what is asked and noted ----------------------------------------------------------------- */

/* When what comes before the op in its stream is done; the legacy stream's rules with it. */
static inline double xfw_ends_ready(struct xfw_ends *ends, const struct xfw_op *op)
{
    const struct xfw_gpu_ends *gpu = &ends->gpus[xfw_place_of_gpu(op->gpu)];
    double end = xfw_ends_of(ends, op->stream)->end;
    if (op->stream_kind == XFW_LEGACY)
        end = xfw_max(end, gpu->blocking);
    else if (op->stream_kind == XFW_BLOCKING)
        end = xfw_max(end, gpu->legacy);
    return end;
}

/* The op's work is done then. */
void xfw_ends_note(struct xfw_ends *ends, const struct xfw_op *op, double end);
/* The op's stream waits for the op's event: who waits for the stream, or for its GPU, does so, too,
 * whether or not more is given to the stream. */
void xfw_ends_wait(struct xfw_ends *ends, const struct xfw_op *op);
/* Work of the stream that was done at `before` is done at `end` after all. */
void xfw_ends_put_off(struct xfw_ends *ends, int gpu, uint32_t stream, double before, double end);

/* Of the operation XFW_OUTSTANDING - `later` before the next; -INFINITY: the stream has not had so
 * many. */
static inline double xfw_ends_outstanding(struct xfw_ends *ends, uint32_t number, unsigned later)
{
    const struct xfw_stream_ends *stream = xfw_ends_of(ends, number);
    return stream->count >= XFW_OUTSTANDING
               ? stream->ends[(stream->count + later) % XFW_OUTSTANDING]
               : -INFINITY;
}

/* When the stream takes another operation that is ready to be given to it. Ends only grow: what one
 * behind the oldest tells need not be looked up. */
static inline double xfw_ends_taken(struct xfw_ends *ends, uint32_t number, double ready)
{
    const struct xfw_stream_ends *stream = xfw_ends_of(ends, number);
    return stream->count < XFW_OUTSTANDING || stream->late <= ready
               ? ready
               : xfw_max(ready, stream->ends[stream->count % XFW_OUTSTANDING]);
}

#endif
