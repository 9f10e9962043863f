/*
 * The layouts of kernels' parameters (lookup/layout.h), kept by function.
 */
#ifndef XFS_PARAMETERS_H
#define XFS_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/intercept/functions.h"
#include "preload/lookup/layout.h"

/* Never changes and is never freed. */
struct xfs_parameters {
    uint16_t known; /* 0: the driver did not say, or there are too many words */
    uint16_t runs;
    uint16_t words; /* of all runs */
    struct xfs_run run[];
};

/* Queries the driver and stores the answer in the entry; needs a large stack. */
const struct xfs_parameters *xfs_parameters_ask(struct xfs_function *function);

#endif
