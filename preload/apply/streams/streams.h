/*
 * Streams (plan): copies that several threads make at the same time in the legacy default stream,
 * each in a stream of its own, so that those up and those down share the link, where there they
 * would wait for each other.
 *
 * Carried out: copies of XFS_STREAMS_LEAST bytes and more by functions that return when the data
 * has arrived, between page-locked memory and memory of cuMemAlloc of the current context, which is
 * the first that any such copy was made in; once several threads make them. Such a copy is
 * submitted in the calling thread's *blocking* stream of ours (own.h), and waited for before its
 * call returns. What that keeps:
 *   - It waits for all work of the legacy default stream before it, and work of that stream behind
 *     it waits for it: the driver's own rule for blocking streams. Kernels and fills stay in
 *     the legacy default stream, but for what launched.h says; copies by Async do.
 *   - What the program does after the call finds the data.
 *   - Against other copies that are under way at the same time it is made as a whole (flights.h).
 *   - With work of other streams, of other blocking ones and of threads' own default streams, only
 *     the legacy default stream would be ordered: so it is over for good with the first stream that
 *     the program makes, the first work in a default stream of a thread, the first function that
 *     may write memory and is not followed, the end of a context, a capture, a copy between GPUs.
 * So for the copies no kernel's memory has to be known.
 *
 * Both ways are tried in turn, by how the process gets on with all of these copies (pace.h).
 * Streams of ours are kept.
 */
#ifndef XFS_APPLY_STREAMS_H
#define XFS_APPLY_STREAMS_H

#include <stdbool.h>

#include "preload/apply/streams/flights.h"
#include "preload/apply/calls/move.h"

#define XFS_STREAMS_LEAST (UINT64_C(1) << 20)

/* Is the class on, with sites in the plan? Then the functions are looked at that may end it. */
bool xfs_streams_on(void);

/* Have copies of so many bytes to be offered? All of them, until it is over. */
bool xfs_streams_want(uint64_t bytes);

/* Before a copy between host and device is offered to any class. True: it is followed, has to be
 * made within offering it, and xfs_streams_followed() comes behind it. */
bool xfs_streams_follow(const struct xfs_move *move, struct xfs_flight *flight);

/* Such a copy is over. */
void xfs_streams_followed(const struct xfs_flight *flight);

/* True: it was carried out, or made as asked; *status is what the call returns. */
bool xfs_streams_move(const struct xfs_move *move, const struct xfs_flight *flight, int *status);

/* Before work in this stream, by a handle that means the same in every function. */
void xfs_streams_used(xcu_stream stream);

/* Before a copy between these, whose ends the function leaves to the pointers. */
void xfs_streams_within(uint64_t dst, uint64_t src);

/* Before a function whose order is not followed; before a context ends. */
void xfs_streams_end(void);
void xfs_streams_leave(void);

void xfs_streams_after_fork(void);

#endif
