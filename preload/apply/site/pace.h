/*
 * How the process gets on with copies of one kind, all its threads together: for what gains only
 * where all of them go our way, and then shows in no single call.
 *
 * The way is the same for all copies of a period, which is XFS_PACE_COPIES of them; periods take
 * turns as the trials of proof.h do. What is compared is the time of a period, with all that the
 * program does in it, by the bytes that were copied.
 */
#ifndef XFS_APPLY_PACE_H
#define XFS_APPLY_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/site/proof.h"

#define XFS_PACE_COPIES 16

/* The way of the period. */
enum xfs_way xfs_pace_way(void);

/* Does our way not gain, and is this no period to look at it again? Then copies need not be looked
 * at, but have to be counted. */
bool xfs_pace_rests(void);
void xfs_pace_passed(void);

/* A copy of so many bytes is over, now. Returns what is known of both ways; a way that was never
 * timed has no samples. */
struct xfs_proof xfs_pace_copied(uint64_t bytes, uint64_t now_ns);

/* Our way failed: as asked, until it is looked at again. */
void xfs_pace_give_up(void);

void xfs_pace_after_fork(void);

#endif
