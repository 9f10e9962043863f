/*
 * What kind of memory does an address belong to, and where is it?
 *
 * Asked in this order: what this thread found last time, the ranges the program allocated
 * (ranges.h), the driver (cuPointerGetAttributes, which is safe during stream capture), and for
 * host memory the kernel, which node the page is on. "unknown" when none of them knows.
 */
#ifndef XFS_CLASSIFY_H
#define XFS_CLASSIFY_H

#include <stdint.h>

#include "xferscope/terms.h"

struct xfs_place {
    uint8_t memory; /* enum xft_memory */
    int16_t place;  /* device ordinal, NUMA node, or XFT_PLACE_UNKNOWN */
};

struct xfs_place xfs_classify(uint64_t address);

/* The calling thread's current device, or XFT_PLACE_UNKNOWN. Creates no context. */
int16_t xfs_current_device(void);

/* The device of a context, or XFT_PLACE_UNKNOWN. */
int16_t xfs_context_device(void *context);

/* Bytes of one element of an array, 0 when the driver does not say. */
unsigned xfs_array_element_bytes(void *array);

/* Is this stream being captured into a graph? */
int xfs_stream_captured(void *stream, int per_thread);

#endif
