/*
 * Steps: driver calls that submit work to a stream or query it. They are so frequent that their
 * events are short: two clock readings, no call stack, and the event is filled in place in the
 * slab.
 *
 *     begins    check: outermost call of this thread, recording is on, data may have moved or this
 *               is the process's first launch; read the clock
 *     the real call
 *     verb      when it succeeded: read the clock, the device's correlation id; write the event
 *     over      when it failed
 *
 * In programs that move nothing a step costs a load and two branches, and passing the arguments on.
 */
#ifndef XFS_WORK_H
#define XFS_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/record/hot.h"
#include "preload/timing/timing.h"
#include "preload/intercept/hook.h"
#include "preload/intercept/session.h"
#include "xferscope/cuda_abi.h"

struct xfs_step {
    uint64_t start_ns;
    uint16_t call;
    uint16_t flags;
};

static inline bool xfs_step_begins(struct xfs_step *s, uintptr_t called_at)
{
    if (!xfs_moving_begun() &&
        !(xfs_session_awaits_launch() && xfs_session_takes_launch(s->call, called_at)))
        return false;
    if (xfs_is_inner(called_at) || !xfs_call_ready_now())
        return false;
    xfs_timing_call_begin();
    s->start_ns = xfs_now_ns();
    return true;
}

/* One that failed: there is no event. */
static inline void xfs_step_over(void)
{
    if (xfs_self)
        xfs_call_over(xfs_self);
}

#define XFS_STEP_VERB __attribute__((hot)) void

#define XFS_THREADS(gx, gy, gz, bx, by, bz)                                                        \
    ((uint64_t)(gx) * (gy) * (gz) * ((uint64_t)(bx) * (by) * (bz)))

/*
 * Launches. threads: 0 = not known. values and extra are what cuLaunchKernel takes: at most one of
 * them is not NULL, and both point to memory of the caller that is valid until the call returns.
 */
XFS_STEP_VERB xfs_launch(const struct xfs_step *s, const void *function, uint64_t threads,
                         xcu_stream stream, void **values, void **extra);
XFS_STEP_VERB xfs_launch_config(const struct xfs_step *s, const void *function,
                                const struct xcu_launch_config *config, void **values,
                                void **extra);
void xfs_launch_many(const struct xfs_step *s, const struct xcu_launch *launches, unsigned count);

/* A stream and an event: recorded, or waited for (kind: enum xft_event_kind). */
XFS_STEP_VERB xfs_step_event(const struct xfs_step *s, int kind, xcu_event event,
                             xcu_stream stream);

/* The host queried an event, and its work was done. called_from: the program's return address, for
 * the stack of one that ends a polled wait. */
XFS_STEP_VERB xfs_step_event_done(const struct xfs_step *s, xcu_event event, uintptr_t called_from);
XFS_STEP_VERB xfs_step_stream_done(const struct xfs_step *s, xcu_stream stream,
                                   uintptr_t called_from);
/* It was not, or the query failed: status is not 0. of: the event or stream. */
XFS_STEP_VERB xfs_step_not_done(const struct xfs_step *s, int status, uint64_t of);

#endif
