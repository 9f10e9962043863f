/*
 * Windows: the device's records come always, or, where they would take more of the program's time
 * than the budget allows (budget.h), now and then. The trace says when (XFT_EVENT_RECORDS). One per
 * process; all of it but xfs_windows_see() is called in the collecting thread, or when that has
 * ended.
 */
#ifndef XFS_WINDOWS_H
#define XFS_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

/* Records of these kinds (a sum of enum xft_records) have just been switched on, and no others ever
 * are to be. */
void xfs_windows_open(const struct xcp_library *library, xcp_subscriber subscriber, unsigned kinds);

/* Every few milliseconds: opens and closes. True when calls are dense, so that it should look
 * often. */
bool xfs_windows_look(void);

/* No records any more: somebody else's business from here on, or the end. */
void xfs_windows_close(void);

/* What records have turned out to cost, into META. */
void xfs_windows_say_costs(void);

#endif
