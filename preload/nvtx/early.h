/*
 * The ranges that were open before the process's first CUDA call (nvtx.h), written when recording
 * has begun: a thread's before its next event.
 */
#ifndef XFS_NVTX_EARLY_H
#define XFS_NVTX_EARLY_H

#include <stdatomic.h>

/* Number of threads (and the process, if any) with ranges from before recording. */
extern atomic_int xfs_nvtx_waiting;
void xfs_nvtx_write_early(void);

/* Before an event of the calling thread is written. */
static inline void xfs_nvtx_catch_up(void)
{
    if (__builtin_expect(atomic_load_explicit(&xfs_nvtx_waiting, memory_order_relaxed) > 0, 0))
        xfs_nvtx_write_early();
}

/* In a forked child, which begins its own recording. */
void xfs_nvtx_after_fork(void);

#endif
