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

#include "preload/base/attributes.h"
#include "preload/intercept/describe.h"

/* This thread is inside an intercepted call. */
extern XFS_TLS int xfs_depth;

/* False: call the real function and do nothing else. */
/* Hot: one beside the other in memory, whatever lies between them in the sources. */
__attribute__((hot)) bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags);
static inline bool xfs_enter(struct xfs_frame *f, uint16_t call, uint16_t flags)
{
    return xfs_depth == 0 && xfs_enter_outermost(f, call, flags);
}
__attribute__((hot)) void xfs_returned(struct xfs_frame *f, int status);
__attribute__((hot)) void xfs_publish(struct xfs_frame *f);

#endif
