/*
 * What every wrapper does around the real call.
 *
 *     enter     outermost call of this thread and recording is on? note the time
 *     real call
 *     returned  note the time, the status and the device's correlation id
 *     describe  (describe.h)
 *     publish   hand the event to the recorder
 *
 * A runtime call that ends in driver calls is one event: the depth is per thread, and only the
 * outermost call counts. errno is the program's throughout.
 */
#ifndef XFS_HOOK_H
#define XFS_HOOK_H

#include "preload/intercept/describe.h"

/* This thread is inside an intercepted call. */
extern __thread int xfs_depth __attribute__((tls_model("initial-exec")));

/* False: call the real function and do nothing else. */
/* Hot: one beside the other in memory, whatever lies between them in the sources. */
__attribute__((hot)) bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags);
static inline bool xfs_enter(struct xfs_frame *f, uint16_t call, uint16_t flags)
{
    return xfs_depth == 0 && xfs_enter_outermost(f, call, flags);
}
__attribute__((hot)) void xfs_returned(struct xfs_frame *f, int status);
__attribute__((hot)) void xfs_publish(struct xfs_frame *f);

/* Before the real call, until device records are on: has them switched on when the call can move
 * data. Rows that are only watched call it themselves. Keeps errno. */
void xfs_before_moving(uint16_t call);

/*
 * Around the real cuInit. The first one of the process that succeeds starts the session before it
 * returns: recording begins, the machine's GPUs are written down, CUPTI is subscribed to. Others
 * wait for that, since a context that is made meanwhile is what CUPTI does not survive; but not for
 * ever.
 *
 *     turn = xfs_init_begins();
 *     status = real(flags);
 *     xfs_init_ends(turn, status);
 */
enum xfs_init_turn {
    XFS_INIT_NOTHING, /* another's, within another, or there is a session */
    XFS_INIT_FIRST,   /* no context can exist yet */
    XFS_INIT_LATE,    /* somebody has initialised CUDA unseen */
};
enum xfs_init_turn xfs_init_begins(void);
void xfs_init_ends(enum xfs_init_turn turn, int status);

/* The same where cuInit was not seen: at the first call that is. `too_late`: why CUPTI cannot be
 * subscribed to any more; NULL = it can. Any later call does nothing. */
void xfs_session_start(const char *too_late);

#endif
