/*
 * The arguments of a kernel launch: those pointers among its parameters that lie in memory that the
 * recorder knows (ranges.h), stored once as a set (ARGUMENTS).
 *
 * The layout of a function's parameters comes from the driver at its first launch (from CUDA 12.4
 * on). At a launch the 8-byte words of the parameters are compared with the lowest and the highest
 * known address; those in between are looked up. Only memory that the driver has just read is read:
 * after a launch that succeeded, each parameter with the driver's size of it. At most
 * XFS_LAYOUT_WORDS words of a launch are read; the arguments of a function with more are not
 * known.
 *
 * The result is cached by a hash of the words that looked like pointers, until memory is allocated
 * or freed.
 */
#ifndef XFS_ARGUMENTS_H
#define XFS_ARGUMENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/intercept/functions.h"
#include "preload/lookup/layout.h"
#include "xferscope/cuda_abi.h"

enum xfs_arguments_state {
    XFS_ARGUMENTS_UNDECIDED, /* until the first launch */
    XFS_ARGUMENTS_ON,
    XFS_ARGUMENTS_OFF, /* switched off, or the driver is too old */
};
extern atomic_uchar xfs_arguments_state;

/* Id in ARGUMENTS; 0 = not known. Keeps errno. */
__attribute__((hot)) uint32_t xfs_arguments_take(struct xfs_function *function, void **values,
                                                 void **extra);

/* Of a launch that succeeded, as cuLaunchKernel takes them. */
static inline uint32_t xfs_arguments_of(struct xfs_function *function, void **values, void **extra)
{
    if (function == NULL ||
        atomic_load_explicit(&xfs_arguments_state, memory_order_relaxed) == XFS_ARGUMENTS_OFF)
        return 0;
    return xfs_arguments_take(function, values, extra);
}

/* Of a launch that is not captured, whose arguments are known: waits for it, and finds out what it
 * left unchanged of them, in the order of ARGUMENTS (content/verify.h). */
uint64_t xfs_arguments_verify(const struct xfs_function *function, void **values, void **extra,
                              xcu_stream stream, bool per_thread);

/* In a forked child, whose file has no META about arguments yet. */
void xfs_arguments_after_fork(void);

#endif
