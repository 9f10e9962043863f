/*
 * Whether code may have been unloaded, so that another module may lie at its address: dlclose() is
 * counted, the program's (lookup/resolve.c) and our own. A check costs a load and a comparison.
 * What was learned about the code at an address is valid until something is unloaded.
 *
 * Libraries that are unloaded without dlclose() are not counted: those that libc itself unloads,
 * and those in another namespace (dlmopen).
 */
#ifndef XFS_UNLOADS_H
#define XFS_UNLOADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The lower bits count calls in progress, whose libraries may still run and may go at any moment;
 * the bits above count calls that have ended. */
#define XFS_UNLOADS_ENDED 16
extern _Atomic uint64_t xfs_unload_calls;

/* True when something may have been unloaded since this number was read. */
static inline bool xfs_unloads_since(uint64_t number)
{
    return atomic_load_explicit(&xfs_unload_calls, memory_order_acquire) != number;
}

/* Reads a number for xfs_unloads_since(). True when nothing is being unloaded now: what is loaded
 * from here on stays until xfs_unloads_since() is true. */
static inline bool xfs_unloads_quiet(uint64_t *number)
{
    *number = atomic_load_explicit(&xfs_unload_calls, memory_order_acquire);
    return (*number & ((UINT64_C(1) << XFS_UNLOADS_ENDED) - 1)) == 0;
}

#define XFS_UNLOADING UINT64_MAX

/* How many calls have ended, or XFS_UNLOADING while one is in progress. */
static inline uint64_t xfs_unloads(void)
{
    uint64_t number;
    return xfs_unloads_quiet(&number) ? number >> XFS_UNLOADS_ENDED : XFS_UNLOADING;
}

/* libc's dlclose(), counted. *gone (may be NULL): whether the process has unloaded a module since
 * the last call with it. */
int xfs_unload(void *handle, bool *gone);

/* Calls of the parent's other threads do not end in a forked child. Once per process. */
void xfs_unloads_watch_forks(void);

#endif
