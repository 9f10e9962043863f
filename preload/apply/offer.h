/*
 * Copies, offered to the classes.
 */
#ifndef XFS_APPLY_OFFER_H
#define XFS_APPLY_OFFER_H

#include <stdbool.h>

#include "preload/apply/calls/move.h"
#include "preload/apply/gpus/peers.h"
#include "preload/apply/gpus/pipeline.h"

/* True: the first class that takes it carried it out, *status is what the call returns. False: it
 * is still to be made. */
bool xfs_offer_copy(const struct xfs_move *move, int *status);

/* A copy that may be between two GPUs, and whose it is. */
struct xfs_offered {
    struct xfs_between asked;
    bool looked; /* at it */
    struct xfs_peer_copy peer;
    struct xfs_piped_copy piped;
};

/* Are there classes for these? */
bool xfs_offers_between(void);

/* Around the driver's call. Begin: true, it was carried out, and the call is not made. End: false,
 * the call has to be made again. */
bool xfs_offer_between(struct xfs_offered *copy);
bool xfs_offer_between_end(struct xfs_offered *copy, int status);

#endif
