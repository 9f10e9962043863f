/*
 * Page-locked memory that the program has freed and is to allocate again: kept as it is, registered
 * with its context, so that the next allocation of as many bytes there needs only be cleared.
 *
 * Kept is what is allocated again and again: from the second allocation of a size on. All that is
 * kept counts among what the process may page-lock (state.h), and has at most half of it; what was
 * not used again in 32 such allocations goes, and what was kept first goes first. Forked children
 * do not have it.
 *
 * A block is known by its context's number and by what the driver says of it, so one whose context
 * ended unseen is not used again.
 */
#ifndef XFS_APPLY_LOCKED_POOL_H
#define XFS_APPLY_LOCKED_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/cuda_abi.h"

struct xfs_locked {
    char *memory;
    size_t bytes, mapped; /* as registered; as mapped */
    xcu_context context;
};

/* An allocation of so many bytes is made: an older one of that size may be kept from now on. */
void xfs_locked_pool_counts(size_t bytes);

/* Memory of the size, registered with the context, as it was left. False: there is none. */
bool xfs_locked_pool_take(xcu_context context, size_t bytes, struct xfs_locked *found);

/* Keeps memory that nothing uses any more. False: it is to be given back. */
bool xfs_locked_pool_keep(const struct xfs_locked *freed);

/* Is it kept? The program has freed it. */
bool xfs_locked_pool_has(const void *memory);

/* Gives back what is kept: of a context, NULL: of all. False: there was nothing. */
bool xfs_locked_pool_drain(xcu_context context);

/* In a forked child, where there is none of it. */
void xfs_locked_pool_after_fork(void);

#endif
