/*
 * CONTENT events: hashes of what transfers moved, for redundant transfers and round trips.
 *
 * Hashed is the host's side of explicit copies between host and device: the source of a copy to the
 * device before the call returns (the program may not change it before the copy is done), the
 * destination of a copy to the host as soon as it is known to be there: on return of a call that
 * blocks, else at the first wait for its stream, its device, or an event behind it. Not hashed:
 * copies between devices, within the host, of arrays with more than one row, batches, copies in
 * graphs; and host memory that the GPU shares (managed) or that nobody knows, since reading it
 * could move it.
 *
 * A destination that was not waited for in such a way, was written again or freed meanwhile, is not
 * hashed; and a wait for an event that is not known gives up all copies on their way, since any of
 * them could have been used and changed after it. What was not hashed is counted, by reason, in
 * META.
 *
 * Cost is bounded: in all, hashing takes at most XFERSCOPE_CONTENT_SHARE percent of the time since
 * recording began. Of that whole hashes may take four fifths; transfers for which that does not do
 * are hashed by samples, within the rest, and then not at all. A hash that took longer than
 * expected is made up for by the next.
 */
#ifndef XFS_CONTENT_H
#define XFS_CONTENT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "preload/content/hash.h"
#include "xferscope/trace.h"

enum xfs_content_mode { XFS_CONTENT_OFF, XFS_CONTENT_SAMPLED, XFS_CONTENT_WHOLE };
extern atomic_int xfs_content_mode; /* on while a process records with it */

static inline bool xfs_content_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&xfs_content_mode, memory_order_relaxed) != XFS_CONTENT_OFF, 0);
}

/* All of these only when it is on. They keep errno. */

/* A transfer that succeeded; its two ends. The event is complete but for its stack. */
void xfs_content_copied(const struct xft_event *event, const struct xfs_rows *dst,
                        const struct xfs_rows *src);
/* One whose memory is not described well enough. */
void xfs_content_not_copied(void);

/* The host has waited: for a stream, for all that a device was given, for an event. `since`: when
 * the call began; what was submitted later is not covered. An event covers what its thread had
 * submitted to its stream when it was recorded. */
void xfs_content_stream_done(uint64_t stream, bool per_thread, int device, uint64_t since);
void xfs_content_device_done(int device, uint64_t since);
void xfs_content_event_recorded(uint64_t event, uint64_t stream, bool per_thread, int device);
void xfs_content_event_gone(uint64_t event);
void xfs_content_stream_gone(uint64_t stream); /* its copies may still be on their way */
void xfs_content_event_done(uint64_t event, uint64_t since);

/* The memory is about to be freed or unregistered. */
void xfs_content_forget(uint64_t start, uint64_t end);

/* ---- life ---- */

void xfs_content_session_start(void); /* after recording has begun */
void xfs_content_finish(void);        /* says in META what it took and what was left out */
void xfs_content_after_fork(void);

#endif
