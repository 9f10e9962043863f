/*
 * --check of kernels in streams of our own (launched.h): whether a kernel changes memory that it
 * was not given. All allocations that are known (uses.h) but its own are hashed before and behind
 * it, while nothing else is under way.
 *
 * One thread at a time, which has made the others wait.
 */
#ifndef XFS_APPLY_BESIDE_H
#define XFS_APPLY_BESIDE_H

#include <stdbool.h>

#include "preload/apply/uses.h"
#include "xferscope/cuda_abi.h"

/* Before the launch, which is given this. False: it cannot be said, there is too much memory. On a
 * stack of our own. */
bool xfs_beside_begin(const struct xfs_use *given, unsigned count);

/* Once the kernel is over. False: it changed other memory. */
bool xfs_beside_is_same(void);

#endif
