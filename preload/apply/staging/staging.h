/*
 * Copies of pageable memory, by threads through a ring of page-locked slots.
 *
 * Up: threads copy piece after piece from the program's memory into slots, each full slot goes to
 * the device in the program's own stream. Down: the device fills slots in the program's own stream,
 * threads copy each into the program's memory. So the order of streams, with all that the default
 * streams imply, stays the driver's business.
 *
 * What the driver's call does is kept (docs/apply.md):
 *   - a blocking upload waits for what was in the stream before it reads its source; one by Async
 *     reads it at once, and of 4 MiB or more returns when what was before is over;
 *   - an upload has read its source when it returns; without Async its data has arrived, too;
 *   - a download has its data when it returns.
 *
 * Carried out: at least xfs_move_least bytes, between memory that the driver does not know, and one
 * allocation of the current context's device, in a stream of the current context, while nothing is
 * captured. All else is passed on.
 */
#ifndef XFS_APPLY_STAGING_H
#define XFS_APPLY_STAGING_H

#include <stdbool.h>

#include "preload/apply/calls/move.h"

/* As xfs_move_carried_out(). */
bool xfs_staging_move(const struct xfs_move *move, int *status);

#endif
