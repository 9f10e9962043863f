/*
 * CONTENT events: hashes of what transfers moved, for redundant transfers and round trips.
 *
 * The host's side of explicit copies between host and device is hashed: the source of a copy to the
 * device before the call returns (the program may not change it before the copy is done), the
 * destination of a copy to the host once it is known to have arrived: on return of a blocking call,
 * else at the first wait for its stream, its device, or an event recorded after it. Not hashed:
 * copies between devices, within the host, of arrays with more than one row, batches, copies in
 * graphs; and host memory that the GPU shares (managed) or that is unknown, since reading it
 * could move it.
 *
 * A destination that the program did not wait for, or that was written again or freed meanwhile, is
 * not hashed. A wait for an unknown event gives up all copies in flight, since the program may have
 * used and changed any of them after it. Transfers without a hash are counted in META, by reason.
 *
 * Cost is bounded: in all, hashing takes at most XFERSCOPE_CONTENT_SHARE percent of the time since
 * recording began. Whole hashes may take four fifths of that. Transfers beyond it are hashed by
 * samples, within the last fifth, and after that not at all. Time that a hash took beyond its
 * expected cost is deducted from later ones.
 */
#ifndef XFS_CONTENT_H
#define XFS_CONTENT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "preload/content/hash.h"
#include "xferscope/trace.h"

enum xfs_content_mode {
    XFS_CONTENT_OFF,
    XFS_CONTENT_AUTO, /* by samples, only uploads of XFS_CONTENT_LEAST bytes and more, less and less
                         often where they bring others each time */
    XFS_CONTENT_SAMPLED,
    XFS_CONTENT_WHOLE
};
extern atomic_int xfs_content_mode; /* enum xfs_content_mode; off unless the process records */

#define XFS_CONTENT_LEAST (64u << 10) /* copying them takes about as long as a hash by samples */
#define XFS_CONTENT_AUTO_SHARE 1      /* percent of the time, at most */

/* Copies in both directions are hashed, so that waits, events and frees matter. */
static inline bool xfs_content_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&xfs_content_mode, memory_order_relaxed) > XFS_CONTENT_AUTO, 0);
}

/* A copy may be hashed. */
static inline bool xfs_content_of(const struct xft_event *event)
{
    return xfs_content_on() ||
           __builtin_expect(event->bytes >= XFS_CONTENT_LEAST && event->direction == XFT_DIR_H2D &&
                                atomic_load_explicit(&xfs_content_mode, memory_order_relaxed) !=
                                    XFS_CONTENT_OFF,
                            0);
}

/* The functions below are called only where these say so. They keep errno. */

/* A transfer that succeeded; its two ends. The event is complete but for its stack. */
void xfs_content_copied(const struct xft_event *event, const struct xfs_rows *dst,
                        const struct xfs_rows *src);
/* A transfer whose memory is not described well enough to be hashed. */
void xfs_content_not_copied(void);

/* The host has waited for a stream, for all work of a device, or for an event. `since` (ns): when
 * the call began; work submitted later is not covered. An event covers the work that its thread had
 * submitted to its stream when it was recorded. */
void xfs_content_stream_done(uint64_t stream, bool per_thread, int device, uint64_t since);
void xfs_content_device_done(int device, uint64_t since);
void xfs_content_event_recorded(uint64_t event, uint64_t stream, bool per_thread, int device);
void xfs_content_event_gone(uint64_t event);
void xfs_content_stream_gone(uint64_t stream); /* its copies may still be in flight */
void xfs_content_event_done(uint64_t event, uint64_t since);

/* The memory is about to be freed or unregistered. */
void xfs_content_forget(uint64_t start, uint64_t end);

/* ---- life ---- */

void xfs_content_session_start(void); /* after recording has begun */
void xfs_content_finish(void);        /* writes cost and counts to META */
void xfs_content_after_fork(void);

#endif
