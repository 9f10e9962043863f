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

/* This thread is inside an intercepted call; where on the stack that was made (XFS_CALLED_AT). */
extern XFS_TLS int xfs_depth;
extern XFS_TLS uintptr_t xfs_outermost;
#define XFS_NOT_LEFT UINTPTR_MAX /* for calls of our own */

/* In a function that the program calls: the end of the caller's frame. */
#define XFS_CALLED_AT ((uintptr_t)__builtin_dwarf_cfa())

/*
 * A program may leave an intercepted call by siglongjmp from a signal handler, and nobody hears of
 * it. A call within another is made from further down the stack: one from the same place or above
 * shows that the outermost is gone. (From further down it does not show, until one is made from
 * there.) Its event is counted as lost, and what it held of the recorder is let go.
 */
XFS_COLD bool xfs_outermost_left(uintptr_t called_at);

static inline bool xfs_is_inner(uintptr_t called_at)
{
    return xfs_depth != 0 && (called_at < xfs_outermost || !xfs_outermost_left(called_at));
}

/* False: call the real function and do nothing else. */
/* Hot: one beside the other in memory, whatever lies between them in the sources. */
__attribute__((hot)) bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags,
                                              uintptr_t called_at);
static inline bool xfs_enter(struct xfs_frame *f, uint16_t call, uint16_t flags,
                             uintptr_t called_at)
{
    return !xfs_is_inner(called_at) && xfs_enter_outermost(f, call, flags, called_at);
}
__attribute__((hot)) void xfs_returned(struct xfs_frame *f, int status);
__attribute__((hot)) void xfs_publish(struct xfs_frame *f);

#endif
