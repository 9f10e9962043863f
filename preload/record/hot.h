/*
 * The part of recording that every call runs, compiled into the hooks: the driver fills the caches
 * between two calls, so the cost is the number of cache lines of code and data that are touched.
 *
 * What cannot be decided here is left to the slow paths in record.c.
 */
#ifndef XFS_HOT_H
#define XFS_HOT_H

#include "preload/base/attributes.h"
#include "preload/record/cost.h"
#include "preload/record/events.h"
#include "preload/record/lanes.h"
#include "preload/record/record.h"

/* A call of this thread begins; one in XFS_COST_EVERY is timed as a whole (cost.h). Returns the
 * lane, so that the caller need not save a register for it. */
static inline struct xfs_lane *xfs_count_call(struct xfs_lane *lane)
{
    return __builtin_expect(--lane->until_timed == 0, 0) ? xfs_cost_begins(lane) : lane;
}

/* The call is timed: xfs_cost_ends() follows once its event has been written. */
static inline bool xfs_call_is_timed(const struct xfs_lane *lane)
{
    return __builtin_expect(lane->until_timed == XFS_COST_TIMED, 0);
}

/* xfs_record_ready() as a call begins. Prefetches the lane's next row, which is written when the
 * call returns. */
static inline bool xfs_call_ready_now(void)
{
    struct xfs_lane *lane = xfs_self;
    if (__builtin_expect(lane == NULL, 0))
        return xfs_call_ready_slowly();
    lane = xfs_count_call(lane);
    __atomic_store_n(&lane->calling, true,
                     __ATOMIC_RELAXED); /* before the check: the end waits for it */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(!xfs_lane_open_to_calls(lane), 0))
        return xfs_call_ready_slowly();
    const char *row = (const char *)&lane->rows[lane->next];
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + sizeof(struct xft_event) - 1, 1);
    return true;
}

#endif
