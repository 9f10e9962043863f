/*
 * One part of a copy through a ring, both directions: staging.h explains the whole.
 */
#ifndef XFS_APPLY_PIECES_H
#define XFS_APPLY_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/staging/ring.h"
#include "xferscope/cuda_abi.h"

struct xfs_pieces {
    struct xfs_ring *ring; /* taken */
    xcu_stream stream;
    uint64_t device, host; /* addresses of the part */
    uint64_t bytes;
    unsigned threads; /* of the team that are to copy */
    bool up;
    const struct xfs_guard *guard; /* of the calling thread */
    bool arrives;                  /* an upload has arrived when this returns */
};

/* Marks this moment of the stream; waits until what was in it by then is over. False: the driver
 * says an error. */
bool xfs_pieces_mark(struct xfs_ring *ring, xcu_stream stream);
bool xfs_pieces_reached(struct xfs_ring *ring);

/* False: it failed, and the memory that is written has parts of it. */
bool xfs_pieces_copy(struct xfs_pieces *pieces);

#endif
