/*
 * NVTX ranges as RANGE_BEGIN and RANGE_END events.
 *
 * How they come here. A program's NVTX (NVTX 3 is compiled into the program or its libraries, NVTX
 * 2 is libnvToolsExt.so.1) looks at its first call for a tool: it opens the library that the
 * environment variable NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 in it. No
 * version has another way that is not compiled out, so that `xferscope record` sets the variable,
 * unless the user has set it: then that tool is attached and this one is not. A program may hold
 * several NVTX instances; each attaches for itself, and all end in the same functions.
 *
 * What a program sees of it. Push and pop return what they return without a tool. Domains and
 * registered strings, null without a tool, are handles.
 *
 * Before the process's first CUDA call nothing is recorded. The ranges open then are kept in memory
 * (XFS_EARLY_MOST per thread, and as many of the process), and are written when recording has
 * begun: a thread's before its next event. They begin with the recording.
 *
 * Texts are cut at XFT_NAME_MOST bytes. All functions keep errno.
 */
#ifndef XFS_NVTX_H
#define XFS_NVTX_H

#include <stdatomic.h>
#include <stdbool.h>

/* Recording has begun: says in META whether ranges can come. */
void xfs_nvtx_session_start(void);

/* Threads, and the process, that have ranges from before the recording. */
extern atomic_int xfs_nvtx_waiting;
void xfs_nvtx_write_early(void);

/* Before an event of the calling thread is written. */
static inline void xfs_nvtx_settle(void)
{
    if (__builtin_expect(atomic_load_explicit(&xfs_nvtx_waiting, memory_order_relaxed) > 0, 0))
        xfs_nvtx_write_early();
}

/* In a forked child: it has a recording of its own to begin. */
void xfs_nvtx_after_fork(void);

#endif
