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
#include "preload/record/recorder.h"

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

/* ---- what needs nothing slow ------------------------------------------------------------------
 */

/* Id of a stack that this thread had before; 0: it is not remembered. What was remembered had all
 * that a stack needs. A signal handler on top of this takes none. For an event of this lane only:
 * where the lane is not the current recorder's any more, nor is the id. */
static inline __attribute__((always_inline)) uint32_t
xfs_stack_known(struct xfs_lane *lane, uintptr_t called_from, uintptr_t sp, uintptr_t fp)
{
    if (lane->in_stack || xfs_entered || xfs_python_is_on(&lane->recorder->stacks.python))
        return 0;
    lane->in_stack = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t id = xfs_remembered_find(&lane->remembered, called_from, sp, fp);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lane->in_stack = false;
    return id;
}

/*
 * For the events of a call that are filled in where they will lie, once all of each is known: the
 * first of so many rows, whose every field the caller stores to, and does nothing else until they
 * are closed. NULL: not now (a new slab, a handler on top of another event, the end, a fork); the
 * call goes the usual way, and nothing was lost.
 */
static inline __attribute__((always_inline)) struct xft_event *
xfs_call_rows_open(struct xfs_lane *lane, uint32_t rows)
{
    if (__builtin_expect(lane->busy, 0))
        return NULL;
    lane->busy = true;
    __atomic_store_n(&lane->calling, true, __ATOMIC_RELAXED);
    xfs_lane_claim(lane);
    struct xfs_life *life = atomic_load_explicit(&xfs_life, memory_order_acquire);
    struct xfs_recorder *recorder = lane->recorder;
    uint32_t next = lane->next;
    if (__builtin_expect(next + rows <= lane->room &&
                             recorder ==
                                 atomic_load_explicit(&life->begins, memory_order_acquire) &&
                             recorder == atomic_load_explicit(&life->current, memory_order_acquire),
                         1))
        return &lane->rows[next];
    xfs_lane_done(lane);
    xfs_call_over(lane);
    lane->busy = false;
    return NULL;
}

static inline void xfs_call_rows_close(struct xfs_lane *lane, uint32_t rows)
{
    lane->next += rows;
    __atomic_store_n(lane->committed, lane->next, __ATOMIC_RELEASE);
    xfs_lane_done(lane);
    xfs_call_over(lane);
    lane->busy = false;
}

/* Behind them: this call counts; one in XFS_COST_EVERY is timed as a whole, from when it was
 * entered (from_ns; 0: not known) until now. */
static inline void xfs_call_rows_counted(struct xfs_lane *lane, uint64_t from_ns,
                                         const struct xft_event *first)
{
    if (__builtin_expect(--lane->until_timed != 0, 1))
        return;
    xfs_cost_begins(lane);
    lane->timed_from_ns = from_ns ? from_ns : first->start_ns;
    xfs_cost_ends(lane, first->kind, first->start_ns, first->end_ns);
}

#endif
