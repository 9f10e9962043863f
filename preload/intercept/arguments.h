/*
 * What a kernel launch is given: the pointers among its parameters that lie in memory which the
 * recorder knows (ranges.h), kept once as a set (ARGUMENTS).
 *
 * Where a function's parameters lie is asked of the driver at its first launch (from CUDA 12.4 on),
 * once. At a launch the 8-byte words of the parameters are held against the lowest and the highest
 * address that is known; those in between are looked up. What is read of the program's memory is
 * what the driver has just read itself: after a launch that succeeded, each parameter with the size
 * that the driver has for it. At most XFS_ARGUMENT_WORDS words of a launch are looked at; the
 * arguments of a function that takes more are not known.
 *
 * What launches were found to be given is remembered by a hash of the words that looked like
 * pointers; that holds until memory is allocated or freed anywhere.
 */
#ifndef XFS_ARGUMENTS_H
#define XFS_ARGUMENTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/intercept/functions.h"

#define XFS_ARGUMENT_WORDS 512 /* 4 KiB, the most that kernels took before CUDA 12.1 */

enum xfs_arguments_state {
    XFS_ARGUMENTS_UNDECIDED, /* until the first launch */
    XFS_ARGUMENTS_ON,
    XFS_ARGUMENTS_OFF, /* not wanted, or the driver is too old */
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

/* In a forked child: its file does not say yet whether there are any. */
void xfs_arguments_after_fork(void);

#endif
