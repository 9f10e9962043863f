/*
 * Leaving out (plan): an upload whose source has the bytes that the last one brought to the same
 * place, while nothing was written there since (uploads.h).
 *
 * Of such an upload the first XFS_HEAD bytes are copied first, as the program asked: by the same
 * function, from and to the same place, in the same stream. So what the call promises is the
 * driver's doing: what it waits for, what waits for it, its errors. By Async the driver waits for
 * the stream's work from 3 MiB on (staging.h): of such an upload XFS_HEAD_THAT_WAITS bytes. Then
 * the source is hashed, and the rest is copied, or left out. Only of pageable memory: page-locked
 * memory may be read later, in the order of the stream, and is copied as fast as it can be hashed.
 *
 * What it costs is bounded: it may take 1 percent of the time since a site's first upload, and what
 * the site has saved; both by whole calls, against the fastest of the latest that were made as
 * asked. A site rests, ever longer, where hashing takes more than 80 percent of such a call, and
 * where contents change.
 *
 * The first upload of a site that could be left out, and then ever fewer, are verified: the
 * device's bytes are fetched and compared with the source, before anything is left out. One that
 * differs is copied as asked, and the site is left alone from then on.
 */
#ifndef XFS_APPLY_LEAVE_OUT_H
#define XFS_APPLY_LEAVE_OUT_H

#include "preload/apply/calls/move.h"

#define XFS_HEAD (UINT64_C(128) << 10)
#define XFS_HEAD_THAT_WAITS (UINT64_C(4) << 20)
#define XFS_LEAVE_OUT_LEAST (UINT64_C(512) << 10)

/* Is the class on, with sites in the plan? Then every copy of the process has to be offered. */
bool xfs_leave_out_on(void);

/* From here on it is off: not all writes can be followed. */
void xfs_leave_out_give_up(void);

/* Offered before the other classes. True: it was carried out, or made as asked; *status is what the
 * call returns. False: it is still to be made, and what it writes is noted. */
bool xfs_leave_out_move(const struct xfs_move *move, int *status);

#endif
