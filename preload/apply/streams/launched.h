/*
 * Streams (plan), where it is granted that kernels reach only what their parameters name
 * (XFT_PLAN_KERNELS_APART): kernels and fills that threads give to the legacy default stream go
 * into the streams that streams.h has for these threads' copies, so that the loop of upload, kernel
 * and download runs in each thread beside those of the others.
 *
 * A kernel goes there once several threads make such copies, and while their way is ours; launched
 * by cuLaunchKernel, or cuLaunchKernelEx without attributes; where its reach is known (reach.h),
 * and no other thread's stream may still use any of it (uses.h). All others stay in the legacy
 * default stream, which keeps their order with all of ours (own.h). So does every copy by Async.
 * Memory that a copy as asked is using is not given to a kernel before its call returns.
 *
 * Never while a stream is captured. A launch that fails is made again as asked.
 *
 * With --check one thread at a time copies and launches, and it is looked at whether kernels change
 * what they were not given, or to read only (beside.h). One that does: from then on none goes
 * there.
 */
#ifndef XFS_APPLY_LAUNCHED_H
#define XFS_APPLY_LAUNCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/calls/launch.h"

/* Is the class on, with sites in the plan that grant it? */
bool xfs_launched_on(void);

/* Will kernels be looked at? Then allocations are noted (beside.h). */
bool xfs_launched_checked(void);

/* True: it was made; *status is what the call returns. */
bool xfs_launched_move(const struct xfs_launch *launch, int *status);

struct xfs_fill {
    uint64_t address, n; /* of elements */
    unsigned width;      /* bytes of an element: 1, 2, 4 */
    unsigned value;
    xcu_stream stream; /* by a handle that means the same in every function */
};
bool xfs_filled_move(const struct xfs_fill *fill, int *status);

/* Around a copy, with --check: no other thread launches or copies meanwhile. False: it could not be
 * had, and is not to be given back. */
bool xfs_launched_alone(void);
void xfs_launched_together(void);

void xfs_launched_after_fork(void);

#endif
