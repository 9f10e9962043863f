/*
 * What the driver knows of the ends of a copy: of memory, of the stream, of the process's devices.
 */
#ifndef XFS_APPLY_ENDS_H
#define XFS_APPLY_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

/* What the driver knows of memory. */
struct xfs_end {
    unsigned type;           /* enum xcu_memorytype */
    unsigned managed, plain; /* plain: of cuMemAlloc */
    int device;
    xcu_context context;
    xcu_deviceptr start; /* of the allocation */
    size_t bytes;
    uint64_t buffer; /* its number, which no other has; 0: it has none */
};

/* False: it does not know all of these bytes as one allocation, or they are managed. */
bool xfs_end_ask(uint64_t address, uint64_t bytes, struct xfs_end *end);

/* Of this process. */
bool xfs_has_several_devices(void);

/* The stream is one of this context's, and is not being captured. */
bool xfs_is_plain_stream(xcu_stream stream, xcu_context context);

#endif
