/*
 * What every wrapper does around the real call.
 *
 *     enter     check: outermost call of this thread, recording is on; read the clock
 *     real call
 *     returned  read the clock, store the status and the device's correlation id
 *     describe  (describe.h)
 *     publish   give the event to the recorder
 *
 * A runtime call that ends in driver calls is one event: the depth is per thread, and only the
 * outermost call counts. errno is the program's throughout.
 */
#ifndef XFS_HOOK_H
#define XFS_HOOK_H

#include "preload/base/attributes.h"
#include "preload/intercept/describe.h"
#include "preload/record/record.h"

/* This thread is inside an intercepted call; the stack address of its caller (XFS_CALLED_AT). */
extern XFS_TLS int xfs_depth;
extern XFS_TLS uintptr_t xfs_outermost;
#define XFS_NOT_LEFT UINTPTR_MAX /* for calls of our own */

/* In a function that the program calls: the end of the caller's frame. */
#define XFS_CALLED_AT ((uintptr_t)__builtin_dwarf_cfa())
#define XFS_CALLED_FROM ((uintptr_t)__builtin_return_address(0))

/*
 * A program may leave an intercepted call by siglongjmp from a signal handler, without any notice.
 * A nested call is made from further down the stack; a call from the same place or above shows that
 * the outermost one was left. (A call from further down does not show it, but a later one will.)
 * The event of the call that was left is counted as lost, and the recorder's state of this thread
 * is reset.
 */
XFS_COLD bool xfs_outermost_left(uintptr_t called_at);

static inline bool xfs_is_inner(uintptr_t called_at)
{
    return xfs_depth != 0 && (called_at < xfs_outermost || !xfs_outermost_left(called_at));
}

/* False: call the real function and do nothing else. */
/* Hot: placed next to each other in memory. */
__attribute__((hot)) bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags,
                                              uintptr_t called_at);
static inline bool xfs_enter(struct xfs_frame *f, uint16_t call, uint16_t flags,
                             uintptr_t called_at)
{
    return !xfs_is_inner(called_at) &&
           __builtin_expect(!atomic_load_explicit(&xfs_switched_off, memory_order_relaxed), 1) &&
           xfs_enter_outermost(f, call, flags, called_at);
}
__attribute__((hot)) void xfs_returned(struct xfs_frame *f, int status);
__attribute__((hot)) void xfs_publish(struct xfs_frame *f);

#endif
