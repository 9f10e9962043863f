/*
 * Periods: recording can be limited to a part of the run, by time (XFERSCOPE_DELAY, _DURATION), to
 * NVTX ranges of one name (XFERSCOPE_PHASE), and until the run has a size (XFERSCOPE_MAX_SIZE).
 *
 * What is recorded of the program's work are calls that begin in a period, and what the device did
 * for them, whenever that was. CUPTI stays attached throughout, since it does not survive being
 * switched (docs/timing.md): records of other calls are dropped as they come. Events about what
 * there is (memory, streams, peers, ranges) are recorded outside of periods as well, so that what
 * is met in a period is known; until the size is reached: then nothing is.
 *
 * Begin and end are PERIOD events. Who notices writes them: a thread whose call begins, one that
 * opens or closes a range, or the background thread.
 */
#ifndef XFS_PERIODS_H
#define XFS_PERIODS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xferscope/trace.h"

struct xfs_recorder;

/* There are limits: set when recording begins. All below is of interest only then. */
extern atomic_bool xfs_periods_limited;

/* Is it a period? Where this changes, `changed` is told, in whatever thread. */
extern atomic_bool xfs_periods_open;
void xfs_periods_start(void (*changed)(void));

/* A call begins: looks at the clock, and whether it is a period. */
bool xfs_periods_look(void);

/* A range of the name was opened or closed; also before recording begins. Keeps errno. */
void xfs_periods_range(int by);

/* This is recorded although its call began outside of periods. */
bool xfs_periods_keep_state(enum xft_event_kind kind);

/* So is a range that begins or ends. */
bool xfs_periods_keep_ranges(void);

/* The device's record: of a call in a period, or without a number in the time of one. */
bool xfs_periods_keep_record(const struct xft_event *record);

/* A call is given this number, which its records will have. They ascend. */
extern atomic_uint xfs_periods_number;
static inline void xfs_periods_numbered(uint32_t number)
{
    if (__builtin_expect(atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed), 0))
        atomic_store_explicit(&xfs_periods_number, number, memory_order_relaxed);
}

/* The background thread: is it time? */
void xfs_periods_tick(struct xfs_recorder *recorder);

/* In a forked child; ranges: that its one thread has open. */
void xfs_periods_after_fork(int ranges);

#endif
