/*
 * The pool (plan): device memory that the program frees and allocates again.
 *
 * Memory that a planned site got from cuMemAlloc is kept when it is freed, and the next allocation
 * of the same size in the same context gets it. The free waits for the context's work as cuMemFree
 * does, and returns what that wait returns. Never more is kept than the planned sites had at one
 * time, and never more than a sixteenth of the device's memory; what was freed first goes first.
 * When an allocation of the program finds no memory, all that is kept is freed, and the allocation
 * is made again.
 *
 * A block is known again by the number of its allocation, so one whose end was not seen is not
 * taken for another that came to its place.
 */
#ifndef XFS_APPLY_POOL_H
#define XFS_APPLY_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

/* Is the class on, with sites in the plan? */
bool xfs_pool_on(void);

/* In place of cuMemAlloc_v2 and cuMemFree_v2. False: the call is still to be made. */
bool xfs_pool_alloc(xfs_function real, xcu_deviceptr *p, size_t bytes, int *status);
bool xfs_pool_free(xcu_deviceptr p, int *status);

/* Another allocation found no memory: frees what is kept. False: nothing was. */
bool xfs_pool_drain(void);

/* Before a context ends (NULL: it is not known which): what was kept goes with it. */
void xfs_pool_leave(xcu_context context);

void xfs_pool_after_fork(void);

#endif
