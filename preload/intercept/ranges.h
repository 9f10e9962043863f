/*
 * The address ranges of device, pinned, registered and managed memory, as the program allocated
 * them. One set per process.
 *
 * Look-ups take no lock: a reader that overlaps a change tries again. Changes are serialised. The
 * ranges lie in one sorted array; it grows by doubling, and outgrown arrays are kept, since a
 * reader may still be in one.
 */
#ifndef XFS_RANGES_H
#define XFS_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xferscope/terms.h"

struct xfs_range {
    uint64_t start;
    uint64_t end;
    int16_t place;  /* device ordinal or NUMA node; XFT_PLACE_UNKNOWN */
    uint8_t memory; /* enum xft_memory */
};

/* Adds a range; older ranges lose what it overlaps (their free was not seen). */
void xfs_ranges_add(const struct xfs_range *range);

/* Removes the range that starts at this address; false when there is none. */
bool xfs_ranges_remove(uint64_t start, struct xfs_range *removed);

/* Forgets everything: contexts were destroyed, or this is a forked child. */
void xfs_ranges_clear(void);

/* In a forked child, before anything else: another thread may have held the lock. */
void xfs_ranges_after_fork(void);

/*
 * True: the range that contains the address. False: the hole between ranges that contains it, with
 * `memory` unknown. Valid while xfs_ranges_epoch() stays the same.
 */
bool xfs_ranges_find(uint64_t address, struct xfs_range *found);

/* Bounds of all ranges, unless the set is being changed; 0 and 0 when there are none. */
extern _Atomic uint64_t xfs_ranges_low, xfs_ranges_high;

/* Changes with every change of the set. */
extern _Atomic uint32_t xfs_ranges_sequence; /* odd while the set changes */
static inline uint32_t xfs_ranges_epoch(void)
{
    return atomic_load_explicit(&xfs_ranges_sequence, memory_order_acquire);
}

#endif
