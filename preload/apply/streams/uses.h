/*
 * Which stream of ours (own.h) uses which memory, as far as that may still be under way: by places,
 * one for each stream.
 *
 * A piece of work begins with the allocations that it uses, is submitted, and is over once somebody
 * has waited for its place, or the legacy default stream was made to. It does not begin where
 * another place may still be writing what it uses, or using what it writes.
 *
 * At most XFS_USES_KNOWN allocations are known; beyond that work does not begin. All of it is
 * behind one lock, held for no longer than a walk over them; where a thread does not get it soon,
 * work does not begin, and nothing is over.
 */
#ifndef XFS_APPLY_USES_H
#define XFS_APPLY_USES_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_USES_PLACES 16
#define XFS_USES_KNOWN 256

struct xfs_use {
    uint64_t buffer; /* number of the allocation, which no other has; not 0 */
    uint64_t start, bytes;
    bool writes;
};

/* True: it is to be submitted, and xfs_uses_submitted() comes behind that. */
bool xfs_uses_begin(unsigned place, const struct xfs_use *uses, unsigned count);
void xfs_uses_submitted(unsigned place);

/* What the place was given until now, all of it submitted; 0: nothing that may be under way, or
 * some of it is being submitted. Once that is waited for: over. */
uint64_t xfs_uses_so_far(unsigned place);
void xfs_uses_over(unsigned place, uint64_t so_far);

/* May any work of the place be under way? */
bool xfs_uses_pending(unsigned place);

/* Is any work being submitted? */
bool xfs_uses_submitting(void);

/* Nothing is under way, and nothing known. */
void xfs_uses_forget(void);

#endif
