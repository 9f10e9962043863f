/*
 * A copy as the program asked the driver for it: one run of bytes.
 */
#ifndef XFS_APPLY_MOVE_H
#define XFS_APPLY_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/terms.h"

/* The parameters of the driver's function; those of the per-thread default stream are the same. */
enum xfs_move_form {
    XFS_MOVE_UP,         /* cuMemcpyHtoD: dst, src, bytes */
    XFS_MOVE_UP_ASYNC,   /* cuMemcpyHtoDAsync: and a stream */
    XFS_MOVE_DOWN,       /* cuMemcpyDtoH */
    XFS_MOVE_DOWN_ASYNC, /* cuMemcpyDtoHAsync */
    XFS_MOVE_ANY,        /* cuMemcpy: the pointers say the direction */
    XFS_MOVE_ANY_ASYNC,  /* cuMemcpyAsync */
};

/* Copies of fewer bytes are passed on at once: XFERSCOPE_APPLY_LEAST, set before the first. */
extern uint64_t xfs_move_least;

struct xfs_move {
    enum xfs_move_form form;
    xfs_function real; /* the driver's function */
    uint64_t dst, src, bytes;
    xcu_stream given;  /* as the program passed it; NULL for functions without a stream */
    xcu_stream stream; /* the same stream, by a handle that means the same in every function */
    bool blocking;     /* the function without Async in its name */
};

/* H2D or D2H by the function's name; XFT_DIR_UNKNOWN: the pointers say. */
enum xft_direction xfs_move_direction(const struct xfs_move *move);

/* Makes the program's call, for a part of the copy. Returns what the driver returns. */
int xfs_move_as_asked(const struct xfs_move *move, uint64_t offset, uint64_t bytes);

/* The stream that a default stream's NULL means. */
static inline xcu_stream xfs_move_stream(xcu_stream given, bool per_thread)
{
    if (given)
        return given;
    return per_thread ? XCU_STREAM_PER_THREAD : XCU_STREAM_LEGACY;
}

#endif
