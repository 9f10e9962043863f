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

#include "preload/base/attributes.h"

extern atomic_bool xfs_sandbox_seen;

/* This thread may not read the processor's time stamp counter (SECCOMP_MODE_STRICT, PR_SET_TSC): it
 * would fault, in clock_gettime too. The coarse clock does without. */
extern XFS_TLS bool xfs_no_counter;

static inline bool xfs_may_call_kernel(void)
{
    return !atomic_load_explicit(&xfs_sandbox_seen, memory_order_relaxed);
}

#endif
