/*
 * Placement (plan) of pageable memory: what planned sites copy from, or to, is moved to the node
 * that the plan names, where it lies elsewhere.
 *
 * Moved are whole pages of the bytes of one copy, before the copy, by the kernel (near.h): their
 * addresses, what is in them, and policies stay. Nothing is moved for a thread with a policy of its
 * own, nor before it is known how the site's copies are made best (staging), nor more than
 * XFS_MOVED_MOST (placement.h) in a process. What lies elsewhere again, since the kernel balances
 * memory between nodes by who uses it, or since other memory is there now, is left to it.
 *
 * It proves itself as far as it can: memory cannot lie on both nodes in turn. So XFS_TRIALS copies
 * of memory that lies elsewhere are timed, then as many of memory that was moved, at each size. If
 * these are not faster by a tenth, the site moves nothing more. What gains may take as long for
 * moving further memory as was gained so far.
 */
#ifndef XFS_APPLY_PLACED_H
#define XFS_APPLY_PLACED_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/calls/move.h"
#include "preload/apply/site/site.h"

#define XFS_PLACED_LEAST (UINT64_C(256) << 10) /* bytes of a copy */

/* Have copies of so many bytes to be offered? */
bool xfs_placed_want(uint64_t bytes);

struct xfs_placed {
    struct xfs_site *site; /* NULL: there is nothing to place, or to time */
    uint64_t bytes, begun_ns;
    enum xfs_way way; /* ours: the memory was moved */
    bool timed;
};

/* Around a copy, whoever makes it. */
void xfs_placed_begin(const struct xfs_move *move, struct xfs_placed *placed);
void xfs_placed_end(const struct xfs_placed *placed, int status);

void xfs_placed_after_fork(void);

#endif
