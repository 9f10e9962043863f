/*
 * Copies, offered to the classes.
 */
#ifndef XFS_APPLY_OFFER_H
#define XFS_APPLY_OFFER_H

#include <stdbool.h>

#include "preload/apply/move.h"

/* True: the first class that takes it carried it out, *status is what the call returns. False: it
 * is still to be made. */
bool xfs_offer_copy(const struct xfs_move *move, int *status);

#endif
