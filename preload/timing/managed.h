/*
 * CUPTI's counters of managed memory: which, and how they are switched on. They are the last kind
 * of record to be enabled, when the process first uses managed memory.
 */
#ifndef XFS_MANAGED_H
#define XFS_MANAGED_H

#include "xferscope/cupti_abi.h"

/* After cuInit. XCP_SUCCESS, or what CUPTI answered; *what is the function that did. */
xcp_result xfs_managed_enable(const struct xcp_library *cupti, const char **what);

#endif
