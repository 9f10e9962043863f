/*
 * Whether code may have gone from the process, so that its place may be another module's: counted
 * around each dlclose() of the program (lookup/resolve.c) and of ours. Who asks pays a load and a
 * comparison. What was learned of the code at an address holds until something is unloaded.
 *
 * What goes without it is not counted: a library that libc itself gives back, one that was loaded
 * in another namespace (dlmopen).
 */
#ifndef XFS_UNLOADS_H
#define XFS_UNLOADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The lower bits: calls under way, whose libraries may still run and be gone at any moment; those
 * above: calls that have ended. */
#define XFS_UNLOADS_ENDED 16
extern _Atomic uint64_t xfs_unload_calls;

/* Something may have gone since this number was told. */
static inline bool xfs_unloads_since(uint64_t number)
{
    return atomic_load_explicit(&xfs_unload_calls, memory_order_acquire) != number;
}

/* A number for the above, and whether nothing is going at this moment: what is there from here on
 * stays until xfs_unloads_since() says otherwise. */
static inline bool xfs_unloads_quiet(uint64_t *number)
{
    *number = atomic_load_explicit(&xfs_unload_calls, memory_order_acquire);
    return (*number & ((UINT64_C(1) << XFS_UNLOADS_ENDED) - 1)) == 0;
}

#define XFS_UNLOADING UINT64_MAX

/* How many have ended, or XFS_UNLOADING while one is under way. */
static inline uint64_t xfs_unloads(void)
{
    uint64_t number;
    return xfs_unloads_quiet(&number) ? number >> XFS_UNLOADS_ENDED : XFS_UNLOADING;
}

/* libc's dlclose(), counted. *gone, unless NULL is passed: whether the process has given back a
 * module since the last call that was asked. */
int xfs_unload(void *handle, bool *gone);

/* Calls of the parent's other threads do not end in a forked child. Once per process. */
void xfs_unloads_watch_forks(void);

#endif
