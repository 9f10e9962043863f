/*
 * --check: a copy that was carried out is also made as the program asked, into memory of our own,
 * and compared byte by byte. Slow, and in bounded memory.
 */
#ifndef XFS_APPLY_CHECK_H
#define XFS_APPLY_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/state/report.h"
#include "xferscope/cuda_abi.h"

/* A copy between host and device, or a part of one. */
struct xfs_compared {
    xcu_stream stream;
    uint64_t device, host; /* addresses */
    uint64_t bytes;
    bool up;
};

/* Counts the comparison in `site` (may be NULL). False: it is different, which is said in a line,
 * and the copy is made again as asked. What cannot be compared, for lack of memory, is not counted.
 */
bool xfs_check_copy(const struct xfs_compared *copy, struct xfs_report_site *site);

/* The same of a copy between two devices, both of whose ends are read through the host. */
bool xfs_check_peer(uint64_t dst, uint64_t src, uint64_t bytes, xcu_stream stream,
                    struct xfs_report_site *site);

#endif
