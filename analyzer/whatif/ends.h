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

#include "analyzer/whatif/op.h"
#include "analyzer/whatif/schedule.h"

struct xfw_stream_ends {
    double end;
    double *ends; /* of the last XFW_OUTSTANDING operations, a ring; NULL: none */
    uint64_t count;
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

/* When what comes before the op in its stream is done; the legacy stream's rules with it. */
double xfw_ends_ready(struct xfw_ends *ends, const struct xfw_op *op);
/* The op's work is done then. */
void xfw_ends_note(struct xfw_ends *ends, const struct xfw_op *op, double end);
/* The op's stream waits for the op's event: who waits for the stream, or for its GPU, does so, too,
 * whether or not more is given to the stream. */
void xfw_ends_wait(struct xfw_ends *ends, const struct xfw_op *op);
/* Work of the stream that was done at `before` is done at `end` after all. */
void xfw_ends_put_off(struct xfw_ends *ends, int gpu, uint32_t stream, double before, double end);
/* Of the operation XFW_OUTSTANDING - `later` before the next; -INFINITY: the stream has not had so
 * many. */
double xfw_ends_outstanding(struct xfw_ends *ends, uint32_t stream, unsigned later);

/* To be read and written; until the next one is asked for. */
double *xfw_ends_stream(struct xfw_ends *ends, uint32_t stream);
double *xfw_ends_event(struct xfw_ends *ends, uint32_t event);
/* All of a GPU's streams. */
double xfw_ends_gpu(const struct xfw_ends *ends, int gpu);

#endif
