/*
 * How the pieces of a run of copies within a device lie: rows, each at the same distance behind the
 * one before it at both ends (one cudaMemcpy2DAsync() copies them), or anywhere. And whether they
 * could be copied in any order: none reads or writes where an earlier one wrote, or writes where an
 * earlier one read.
 */
#ifndef XFW_STRIDES_H
#define XFW_STRIDES_H

#include <stdbool.h>
#include <stdint.h>

#define XFW_MOST_STRIDES 32 /* of pieces that lie anywhere; another one begins a new run */
#define XFW_LEAST_ROWS 4    /* fewer are not worth another call */

/* Rows of so many bytes; steps: modulo 2^64, known from the second one on. */
struct xfw_stride {
    uint64_t src, dst, bytes, src_step, dst_step, count;
};

/* Zeroed: no piece yet. */
struct xfw_strides {
    struct xfw_stride items[XFW_MOST_STRIDES];
    unsigned count;
};

/* Takes the piece, as one more of the run; false, and nothing changes: it begins a new run, since
 * it depends on an earlier piece, or the run is one of rows and it is none. */
bool xfw_strides_take(struct xfw_strides *strides, uint64_t src, uint64_t dst, uint64_t bytes);

#endif
