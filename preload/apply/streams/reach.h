/*
 * What a kernel reaches, as far as its parameters name it: the allocations that they point into,
 * including words of structures that are passed by value.
 *
 * An allocation counts as written, unless all words that point into it are of arguments that the
 * plan says the kernel only reads by.
 *
 * It is known only where each word that may be a pointer either points into memory of cuMemAlloc of
 * the current context, or into nothing that anybody knows. Managed, page-locked and pooled memory,
 * memory of another GPU, and host memory where the GPU can read that, could be read and written by
 * others without a call. What kernels reach otherwise (variables of their module, textures, the
 * device's heap, pointers in memory) is not seen: a plan grants that they do not
 * (xferscope/plan.h).
 */
#ifndef XFS_APPLY_REACH_H
#define XFS_APPLY_REACH_H

#include <stdbool.h>

#include "preload/apply/streams/uses.h"
#include "xferscope/cuda_abi.h"

#define XFS_REACH_MOST 16 /* allocations; kernels that are given more are not known */

/* The memory of an allocation, as a kernel uses it. False: the address is not in memory of
 * cuMemAlloc of this context, or not all of the bytes are. */
bool xfs_reach_memory(uint64_t address, uint64_t bytes, xcu_context current, struct xfs_use *use);

/* Of an allocation, for XFS_REACH_MOST: which parameters point into it. Bit k: that of number k; of
 * the first 64. */
typedef uint64_t xfs_reach_arguments;

/* The allocations, each once, and by which parameters (NULL: not asked for); *times: how often this
 * kernel was asked about before. False: it is not known. Calls the driver, and needs a large stack.
 */
bool xfs_reach_of(const void *function, void **values, xcu_context current,
                  struct xfs_use uses[XFS_REACH_MOST],
                  xfs_reach_arguments arguments[XFS_REACH_MOST], unsigned *count, uint32_t *times);

/* The kernel's name, mangled; NULL: the driver does not know it (before CUDA 12.3). */
const char *xfs_reach_name(const void *function);

/* Modules may be unloaded. */
void xfs_reach_forget(void);

void xfs_reach_after_fork(void);

#endif
