/*
 * Converts one CUPTI record to an event of the trace. Only xfs_convert() writes to the trace (a
 * kernel's name, the instruction of a CPU page fault); one thread at a time.
 */
#ifndef XFS_CONVERT_H
#define XFS_CONVERT_H

#include <stdint.h>

#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

/* cuptiGetVersion()'s answer; without it records are read in the oldest version's format. */
void xfs_convert_version(uint32_t version);

enum xfs_conversion {
    XFS_CONVERT_NONE,    /* a kind that the trace does not hold */
    XFS_CONVERT_NO_TIME, /* CUPTI had no time for it: lost */
    XFS_CONVERT_EVENT,
};
enum xfs_conversion xfs_convert_kind(const struct xcp_activity *record);

/* Fills a zeroed event from a record for which xfs_convert_kind() returned XFS_CONVERT_EVENT. clock
 * (ns) is added to its times. */
void xfs_convert(struct xft_event *event, const struct xcp_activity *record, int64_t clock);

#endif
