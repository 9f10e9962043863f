/*
 * Relay: large uploads of page-locked memory by the links of two GPUs (relays.h), where the
 * machine's profile has measured that this pays: XFERSCOPE_APPLY_RELAYS, of xferscope apply.
 *
 * Carried out: uploads to memory of cuMemAlloc of the current context's device, in a stream of that
 * context without work, by a GPU that the program has a primary context on, with peer access to
 * the destination, and without work as far as is known: nothing in its default stream, and the
 * program never made a stream that does not wait for that. No context is made for it, and no access
 * enabled.
 *
 * What a call promises is kept: an upload by Async returns at once and reads its source in the
 * order of the stream; without Async its data has arrived when it returns.
 */
#ifndef XFS_APPLY_RELAY_H
#define XFS_APPLY_RELAY_H

#include <stdbool.h>

#include "preload/apply/calls/move.h"

/* Is the class on? */
bool xfs_relay_on(void);

/* As xfs_offer_copy(). */
bool xfs_relay_move(const struct xfs_move *move, int *status);

#endif
