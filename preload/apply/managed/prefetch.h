/*
 * Prefetching (plan): managed memory of planned sites goes to the GPU before kernels that are given
 * it start, in the order of their stream.
 *
 * A launch by cuLaunchKernel, or by cuLaunchKernelEx without attributes, is given what its
 * parameters point into. What is prefetched is whole allocations, all that the launch is given of
 * them, or nothing: where the GPU has not that much memory free, and a sixteenth of its memory
 * beyond, nothing is, so that nothing else has to leave it. Of the legacy default stream, which
 * orders what other streams do, only while all launches come from one thread.
 *
 * A prefetch changes no byte and no order; an error of it is not the program's, and ends it for
 * that allocation. kernels.h says whether it gains.
 */
#ifndef XFS_APPLY_PREFETCH_H
#define XFS_APPLY_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/apply/calls/launch.h"
#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

/* Is the class on, with sites in the plan? */
bool xfs_prefetch_on(void);

/* In place of cuMemAllocManaged and of launches. False: the call is still to be made. */
bool xfs_prefetch_alloc(xfs_function real, xcu_deviceptr *p, size_t bytes, unsigned flags,
                        int *status);
bool xfs_prefetch_launch(const struct xfs_launch *launch, int *status);

/* Before a context ends, or a module may be unloaded. */
void xfs_prefetch_leave(void);

void xfs_prefetch_after_fork(void);

#endif
