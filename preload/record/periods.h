/*
 * Periods: recording can be limited to a part of the run by time (XFERSCOPE_DELAY, _DURATION), to
 * NVTX ranges of one name (XFERSCOPE_PHASE), and by the size of the run's files
 * (XFERSCOPE_MAX_SIZE).
 *
 * Recorded are the calls that begin in a period, and what the device did for them, at whatever
 * time. CUPTI stays attached throughout, since it does not survive being switched off and on
 * (docs/timing.md): records of other calls are dropped as they arrive. Events that describe state
 * (memory, streams, peers, ranges) are recorded outside periods too, so that calls of a period can
 * refer to them; once the size is reached, nothing is recorded.
 *
 * A PERIOD event marks each begin and end. The thread that notices writes it: one whose call
 * begins, one that opens or closes a range, or the background thread.
 */
#ifndef XFS_PERIODS_H
#define XFS_PERIODS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xferscope/trace.h"

struct xfs_recorder;

/* Recording is limited: set when it begins. All below is used only then. */
extern atomic_bool xfs_periods_limited;

/* A period is open. `changed` is called whenever this changes, in any thread. */
extern atomic_bool xfs_periods_open;
void xfs_periods_start(void (*changed)(void));

/* A call begins: reads the clock, opens or closes a period, and returns whether one is open. */
bool xfs_periods_look(void);

/* A range of the name was opened or closed; also before recording begins. Keeps errno. */
void xfs_periods_range(int by);

/* Whether an event of this kind is recorded although its call began outside a period. */
bool xfs_periods_keep_state(enum xft_event_kind kind);

/* Whether a range that begins or ends is recorded. */
bool xfs_periods_keep_ranges(void);

/* Whether a device record is kept: its call began in a period or, without a call's number, it ran
 * in one. */
bool xfs_periods_keep_record(const struct xft_event *record);

/* Whether the last period had begun by then. */
bool xfs_periods_last_has(uint64_t ns);

/* CUPTI's number of a call, which its records have. Numbers ascend. */
extern atomic_uint xfs_periods_number;
static inline void xfs_periods_numbered(uint32_t number)
{
    if (__builtin_expect(atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed), 0))
        atomic_store_explicit(&xfs_periods_number, number, memory_order_relaxed);
}

/* In the background thread: opens or closes a period when it is time. */
void xfs_periods_tick(struct xfs_recorder *recorder);

/* In a forked child; `ranges`: how many of the name its one thread has open. */
void xfs_periods_after_fork(int ranges);

#endif
