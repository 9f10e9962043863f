/*
 * Streams of our own for work of the legacy default stream: one for each thread, up to
 * XFS_USES_PLACES; more threads share them.
 *
 * They are *blocking* streams of one context, the first that any such work was made in. By the
 * driver's own rule the legacy default stream waits for all that they were given before, and they
 * wait for what it is given. So work that is left in that stream, whatever it is and uses, comes
 * where the program has it, before and behind work of any of ours. Only work of two of ours has no
 * order: it uses different memory (uses.h), or is made to wait (xfs_own_join()), or is left in the
 * legacy default stream.
 *
 * It is over for good with xfs_own_end(). What ours have then, the legacy default stream is made to
 * wait for, so that whatever is ordered with that is ordered with it.
 */
#ifndef XFS_APPLY_OWN_H
#define XFS_APPLY_OWN_H

#include <stdbool.h>

#include "preload/apply/streams/uses.h"
#include "xferscope/cuda_abi.h"

/* Is this the context of ours? It becomes it, if there is none yet and `first`. */
bool xfs_own_is_here(xcu_context current, bool first);

/* Work that was to be waited for came from more threads than this one; note: this is such. */
bool xfs_own_several_threads(bool note);

/* Work of the calling thread that is to be submitted in a stream of ours. */
struct xfs_own {
    unsigned place;
    xcu_stream stream;
    bool failed; /* the driver said an error */
};

/* False: it has to stay in the legacy default stream. True: xfs_own_submitted() comes behind the
 * driver's call. In a context of ours, on a stack of our own, captures not disturbed (relaxed). */
bool xfs_own_begin(struct xfs_own *own, const struct xfs_use *uses, unsigned count);
void xfs_own_submitted(const struct xfs_own *own);

/* Waits for all that this stream was given. */
xcu_result xfs_own_wait(const struct xfs_own *own);

/* May anything of ours be under way? */
bool xfs_own_pending(void);

/* Before a call that waits for the legacy default stream: waits for all of ours. */
void xfs_own_wait_all(void);

/* Before work of the legacy default stream that stands for all before it, as an event does: it
 * waits for all of ours. */
void xfs_own_join(void);

void xfs_own_end(void);

/* Before the context of ours ends, once it is over: nothing of ours is there any more. */
void xfs_own_leave(void);

void xfs_own_after_fork(void);

#endif
