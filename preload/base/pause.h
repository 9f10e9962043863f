/*
 * A short rest of a thread that waits for another one: 100 us, or in a sandbox (sandbox.h), where
 * it may not be allowed to sleep, some spins. errno stays.
 */
#ifndef XFS_PAUSE_H
#define XFS_PAUSE_H

#include <errno.h>
#include <time.h>

#include "preload/base/sandbox.h"

#define XFS_PAUSE_NS 100000

static inline void xfs_pause(void)
{
    if (!xfs_may_call_kernel()) {
        for (int i = 0; i < 64; i++)
            __builtin_ia32_pause();
        return;
    }
    int saved = errno;
    nanosleep(&(struct timespec){0, XFS_PAUSE_NS}, NULL);
    errno = saved;
}

#endif
