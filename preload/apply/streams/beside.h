/*
 * --check of kernels in streams of our own (launched.h): whether a kernel changes memory that it
 * was not given, or was given to read only; and which of what it may write it does not change. All
 * memory of cuMemAlloc is hashed before and behind it, while nothing else is under way.
 *
 * One thread at a time, which has made the others wait.
 */
#ifndef XFS_APPLY_BESIDE_H
#define XFS_APPLY_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/apply/streams/uses.h"
#include "xferscope/cuda_abi.h"

#define XFS_BESIDE_MOST (UINT64_C(2) << 30) /* more would take seconds for each kernel */

/* From the start of the process on, where kernels will be looked at. */
void xfs_beside_allocated(xcu_deviceptr address, size_t bytes);

/* Before the launch, which is given this. False: it cannot be said, there is too much memory
 * (XFS_BESIDE_MOST), or there are too many allocations. On a stack of our own. */
bool xfs_beside_begin(const struct xfs_use *given, unsigned count);

/* Once the kernel is over. False: it changed other memory than it may write. *changed: which of
 * what it may write; bit i: given[i]. */
bool xfs_beside_is_same(uint32_t *changed);

void xfs_beside_after_fork(void);

#endif
