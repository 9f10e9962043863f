/*
 * Whether threads of the program may have forbidden themselves system calls (seccomp).
 *
 * The background thread keeps ready what threads need, so that recording makes no system call in
 * them. When that is late, a thread makes the system calls itself, unless the process has set up a
 * sandbox (prctl with PR_SET_NO_NEW_PRIVS or PR_SET_SECCOMP, or seccomp, by libc's functions or its
 * syscall()): then it waits, spinning and for a
 * bounded time, and losses are counted.
 */
#ifndef XFS_SANDBOX_H
#define XFS_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "preload/base/attributes.h"

extern atomic_bool xfs_sandbox_seen;

/* Called in prctl or syscall, before the process restricts itself for the first time: the callback
 * ends threads that would still make system calls. NULL: there are none. */
extern void (*_Atomic xfs_sandbox_begins)(void);

/* This thread may not read the processor's time stamp counter (SECCOMP_MODE_STRICT, PR_SET_TSC): it
 * would fault, in clock_gettime too. The coarse clock does without. */
extern XFS_TLS bool xfs_no_counter;

static inline bool xfs_may_call_kernel(void)
{
    return !atomic_load_explicit(&xfs_sandbox_seen, memory_order_relaxed);
}

#endif
