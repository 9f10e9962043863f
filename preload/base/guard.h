/*
 * These two enclose whatever the recorder does in a thread of the program beyond plain memory
 * accesses: they keep errno and disable thread cancellation, since a thread that is cancelled in
 * one of our writes would never release our locks.
 */
#ifndef XFS_GUARD_H
#define XFS_GUARD_H

#include <errno.h>
#include <pthread.h>

struct xfs_guard {
    int saved_errno;
    int cancel_state;
};

static inline struct xfs_guard xfs_guard_enter(void)
{
    struct xfs_guard guard = {.saved_errno = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard.cancel_state);
    return guard;
}

static inline void xfs_guard_leave(struct xfs_guard guard)
{
    pthread_setcancelstate(guard.cancel_state, NULL);
    errno = guard.saved_errno;
}

#endif
