/*
 * Managed memory of planned sites (prefetch.h): allocations that are followed until they are freed.
 *
 * One that the program itself places (cuMemAdvise, cuMemPrefetch...), or that kernels of two
 * devices are given, is left alone from then on. At most XFS_MANAGED are followed. All of it is
 * behind one lock, held for no longer than a walk over them; where another thread has it, nothing
 * is found, and what was to be noted makes all of it be left alone.
 */
#ifndef XFS_APPLY_MANAGED_H
#define XFS_APPLY_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/apply/site/site.h"
#include "xferscope/cuda_abi.h"

#define XFS_MANAGED 64       /* allocations */
#define XFS_MANAGED_GIVEN 16 /* of one launch; of a launch with more, the others are left alone */

struct xfs_managed {
    xcu_deviceptr address;
    size_t bytes;
    uint64_t buffer; /* number of the allocation, which no other has */
    struct xfs_site *site;
    int device; /* whose kernels are given it; -1: none yet */
    bool left;  /* alone */
};

/* Is any followed? */
bool xfs_managed_any(void);

/* An allocation of the current context that was just made. */
void xfs_managed_follow(xcu_deviceptr address, size_t bytes, struct xfs_site *site);

/* Before it is freed. */
void xfs_managed_forget(xcu_deviceptr address);
void xfs_managed_forget_all(void);

/* From here on these bytes are left to the program; 0 bytes: all that is followed. */
void xfs_managed_leave(xcu_deviceptr address, size_t bytes);

/* Those that the words point into, each once, for kernels of that device; their number. */
unsigned xfs_managed_given(const uint64_t *words, unsigned n, int device,
                           struct xfs_managed given[XFS_MANAGED_GIVEN]);

/* Is it still the same allocation? Asks the driver. */
bool xfs_managed_is_there(const struct xfs_managed *managed);

void xfs_managed_after_fork(void);

#endif
