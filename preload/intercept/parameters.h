/*
 * The layout of a kernel's parameters as far as they can hold pointers: runs of aligned 8-byte
 * words.
 */
#ifndef XFS_PARAMETERS_H
#define XFS_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/intercept/functions.h"

struct xfs_run {
    uint16_t index;  /* of the parameter */
    uint16_t offset; /* bytes from the start of the parameter buffer */
    uint16_t words;
};

/* Never changes and is never freed. */
struct xfs_parameters {
    uint16_t known; /* 0: the driver did not say, or there are too many words */
    uint16_t runs;
    uint16_t words; /* of all runs */
    struct xfs_run run[];
};

/* False when the driver has no such query. */
bool xfs_parameters_can(void);

/* Queries the driver and stores the answer in the entry; needs a large stack. */
const struct xfs_parameters *xfs_parameters_ask(struct xfs_function *function);

#endif
