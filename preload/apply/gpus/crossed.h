/*
 * Which work of the program uses memory of two GPUs, of which one has access to the other only
 * since we enabled it (crossings.h): copies of every shape whose ends lie there, also those of the
 * host's memory in a stream of another GPU than the one whose memory they use.
 *
 * Graphs: one with copies that may be between two GPUs keeps access from being enabled, for good.
 * If it was already, all launches of graphs are followed, and access stays, since it is not known
 * how the driver has such copies made.
 *
 * Called behind calls that succeeded, once xfs_pairs_ours(). Streams are handles that mean the same
 * in every function; what is being captured is not followed.
 */
#ifndef XFS_APPLY_CROSSED_H
#define XFS_APPLY_CROSSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

/* Ends that are not device memory are none; 0: there is none, and the named context is meant
 * (arrays), if there is one. */
struct xfs_crossed {
    xcu_stream stream;
    uint64_t dst, src;
    xcu_context to, from; /* as the call named them, or NULL */
};
void xfs_crossed_copy(const struct xfs_crossed *copy);

/* named: the structure is that of copies between devices, which has contexts. */
void xfs_crossed_flat(xcu_stream stream, const struct xcu_memcpy2d *copy);
void xfs_crossed_shaped(xcu_stream stream, const struct xcu_memcpy3d *copy, bool named);

void xfs_crossed_batch(xcu_stream stream, const xcu_deviceptr *dst, const xcu_deviceptr *src,
                       size_t count);
void xfs_crossed_shapes(xcu_stream stream, const struct xcu_memcpy3d_op *copies, size_t count);

/* Before one is instantiated; behind a launch. */
void xfs_crossed_graph_made(xcu_graph graph);
void xfs_crossed_graph_launched(xcu_stream stream);

#endif
