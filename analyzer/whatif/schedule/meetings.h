/*
 * Kernels of NCCL that have begun in a schedule and end once other ranks' kernels have begun: what
 * meets there. XFW_MEETING is an op for each part of such a kernel (kernel_links.h): `begins`
 * behind the kernel's own op, with its number, when it has begun; the other when it is known when
 * those that it waits for had. Between them comes no op that waits for the kernel (together.h).
 * Where all of that is known before the kernel (together.h, again) the latter come in front of it.
 * Private to schedule.c and who makes these ops. Times are ns.
 */
#ifndef XFW_MEETINGS_H
#define XFW_MEETINGS_H

#include "analyzer/whatif/schedule/board.h"
#include "analyzer/whatif/schedule/streams.h"

struct xfw_meeting { /* a kernel */
    uint64_t number; /* of its op */
    bool begun;
    double start, end, duration; /* end: so far */
    uint32_t stream;
    uint8_t stream_kind;
    int16_t gpu;
};

struct xfw_meetings { /* zero to begin with; `all` is for free() */
    struct xfw_meeting *all;
    size_t count, capacity;
};

/* The kernel of an op that `meets` begins. end: by itself; set where its end is known already.
 * Returns until when its stream is known to be busy. */
double xfw_meetings_begin(struct xfw_meetings *meetings, const struct xfw_op *op, double start,
                          double *end);

/* An XFW_MEETING of a process that began at begun_ns of the board's clock, and whose thread is at
 * `now`. */
void xfw_meetings_take(struct xfw_meetings *meetings, struct xfw_streams *streams,
                       struct xfw_board *board, double begun_ns, const struct xfw_op *op,
                       double now);

#endif
