/*
 * A launch of a kernel as the program asked for it.
 */
#ifndef XFS_APPLY_LAUNCH_H
#define XFS_APPLY_LAUNCH_H

#include <stdbool.h>

#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

struct xfs_launch {
    xfs_function real;
    const struct xcu_launch_config *config; /* of cuLaunchKernelEx; NULL: the three after it */
    unsigned grid[3], block[3], shared;
    xcu_stream given;
    const void *function;
    void **values, **extra;
    bool per_thread; /* its default stream is the thread's own */
};

/* By a handle that means the same in every function. */
xcu_stream xfs_launch_stream(const struct xfs_launch *launch);

/* Are its parameters values, and is it an ordinary launch without attributes? */
bool xfs_launch_is_plain(const struct xfs_launch *launch);

/* Makes the program's call; in another stream. Return what the driver returns. */
int xfs_launch_as_asked(const struct xfs_launch *launch);
int xfs_launch_in(const struct xfs_launch *launch, xcu_stream stream);

#endif
