/*
 * Device times without CUPTI (XFERSCOPE_TIMING=event): a CUDA event before and one after each
 * asynchronous copy, on the copy's own stream.
 *
 *     xfs_pairs_copy_begins(stream, flags, call, returns_to)   before the real call
 *     xfs_pairs_copy_ends(event)   after it, when the event is described
 *
 * Both cost a load while event timing is off. It never waits for the program's work: events are
 * only queried, at later copies, when the program has waited, and at the end. While any stream is
 * being captured nothing is done: the driver would add it to the graph, or invalidate the capture.
 * Copies that could not be timed are counted as lost device times, but for
 * those that are not in the sample.
 *
 * Times. The duration of a copy is the time between its two events, with a resolution of 0.5 us.
 * For small copies it is a few microseconds longer than CUPTI's, since it includes the work of the
 * events. When it began is computed from an event of the recorder's own on a stream of its own,
 * whose time is known to the tens of microseconds that asking for it takes.
 */
#ifndef XFS_EVENT_PAIRS_H
#define XFS_EVENT_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "xferscope/cuda_abi.h"
#include "xferscope/trace.h"

extern atomic_bool xfs_pairs_on; /* set at most once; cleared in a forked child */

static inline bool xfs_pairs_is_on(void)
{
    return atomic_load_explicit(&xfs_pairs_on, memory_order_acquire);
}

/* False when the driver lacks a function that this needs. `sampled`: not all copies are timed
 * (allowance.h), and pairs take no more of the time than XFERSCOPE_BUDGET. */
bool xfs_pairs_start(bool sampled);

/* The same in two steps, of which the second takes no time. */
bool xfs_pairs_prepare(bool sampled);
void xfs_pairs_switch_on(void);

/* Number of streams being captured: checked before anything is done. */
extern int (*xfs_pairs_capturing)(void);

/* Kept apart from code that runs without event timing. */
#define XFS_SELDOM __attribute__((cold, noinline))
XFS_SELDOM void xfs_pairs_begin(xcu_stream stream, bool per_thread, uint16_t call,
                                const void *returns_to);
XFS_SELDOM void xfs_pairs_end(const struct xft_event *copy);
static inline void xfs_pairs_copy_begins(xcu_stream stream, unsigned flags, uint16_t call,
                                         const void *returns_to)
{
    if (__builtin_expect(xfs_pairs_is_on(), 0))
        xfs_pairs_begin(stream, (flags & XFT_PER_THREAD) != 0, call, returns_to);
}
static inline void xfs_pairs_copy_ends(const struct xft_event *copy)
{
    if (__builtin_expect(xfs_pairs_is_on(), 0))
        xfs_pairs_end(copy);
}

/* The program has waited for its work: records all pairs that are done. */
XFS_SELDOM void xfs_pairs_collect(void);

/* A context was destroyed, and its events with it: pending pairs are lost. */
void xfs_pairs_forget(void);

/* Waits for pending pairs, at most most_ms, and records them; then event timing is off. */
void xfs_pairs_finish(int most_ms);

void xfs_pairs_after_fork(void);

#endif
