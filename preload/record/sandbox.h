/*
 * Whether threads of the program may have given up calling the kernel (seccomp).
 *
 * What threads need is kept ready, so that recording makes no system call in them. When it is not
 * ready in time, a thread gets it itself, by system calls; unless the process has been seen to set
 * up a sandbox (prctl with PR_SET_NO_NEW_PRIVS or PR_SET_SECCOMP): then it waits, awake and for a
 * bounded time, and what is lost is counted.
 */
#ifndef XFS_SANDBOX_H
#define XFS_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool xfs_sandbox_seen;

static inline bool xfs_may_call_kernel(void)
{
    return !atomic_load_explicit(&xfs_sandbox_seen, memory_order_relaxed);
}

#endif
