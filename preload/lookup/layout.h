/*
 * Where the parameters of a kernel lie, by the driver (from CUDA 12.4 on), as far as they can hold
 * pointers: runs of aligned 8-byte words.
 */
#ifndef XFS_LAYOUT_H
#define XFS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_LAYOUT_WORDS 512 /* 4 KiB, the most that kernels took before CUDA 12.1 */

struct xfs_run {
    uint16_t index;  /* of the parameter */
    uint16_t offset; /* bytes from the start of the parameter buffer */
    uint16_t words;
};

struct xfs_layout {
    uint16_t runs;
    uint16_t words; /* of all runs */
    struct xfs_run run[XFS_LAYOUT_WORDS];
};

/* False when the driver has no such query. */
bool xfs_layout_can(void);

/* Of a handle that launches take: CUfunction or CUkernel. False: the driver does not say, or there
 * are too many words. Calls the driver, and needs a large stack. */
bool xfs_layout_ask(const void *handle, struct xfs_layout *layout);

#endif
