/*
 * Lanes: the threads that a thread becomes which serves several GPUs (gpu_threads.h), and what
 * orders them. Private to changes/. Times are ns of the schedule's clock.
 */
#ifndef XFW_GPU_LANES_H
#define XFW_GPU_LANES_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"

#define XFW_LANES 16         /* of a thread: GPUs; on further ones it stays in the first */
#define XFW_FIRST_LANE 64u   /* threads are numbered from here; a process has fewer of its own */
#define XFW_MOST_LANES 48u   /* of a process: so all have numbers below XFP_PLAY_MOST_THREADS */
#define XFW_LANE_RANGES 32   /* memory of the host that a lane's copies used last */
#define XFW_LANE_CALLS 1024  /* calls of a lane in which it last had the driver */
#define XFW_LANE_MEET_NS 1e4 /* a guess: until a thread goes on that waited for another one */

/* Memory of the host, by the copies of one lane. */
struct xfw_lane_range {
    uint64_t first, end;
    bool filled;    /* by a copy to the host */
    double done_ns; /* the lane's last copy of it was over, as it knows; INFINITY: it does not */
};

struct xfw_lane {
    int gpu;
    uint32_t thread;        /* its number */
    double after_ns;        /* it goes on no earlier */
    bool fetching, fetched; /* a copy to the host is under way; results are there that the host
                               has not yet had time to look at */
    struct xfw_lane_range ranges[XFW_LANE_RANGES];
    unsigned range_count, last_range; /* last_range: of the copy that was noted last */
    struct xfw_lane_call {
        double from, to;
    } calls[XFW_LANE_CALLS]; /* a ring, by time */
    uint64_t call_count;
};

/* When the last of the lane's copies was over that use the host's memory of another one's: with a
 * copy to the host as one of both, or any two of them. INFINITY: it does not know; 0: none does. */
double xfw_lane_shared_until(const struct xfw_lane *lane, const struct xfw_op *copy, bool any);
void xfw_lane_note_copy(struct xfw_lane *lane, const struct xfw_op *copy);
/* The copy that was noted last is over, or all are. */
void xfw_lane_copied(struct xfw_lane *lane, double now, bool all);

/* How long a call of another lane that begins then waits for the calls of this one. */
double xfw_lane_holds_up(const struct xfw_lane *lane, double from);
void xfw_lane_note_call(struct xfw_lane *lane, double from, double to);

#endif
