/*
 * The kinds of CUPTI's records, switched together with the callbacks that number their calls.
 *
 * A call whose callback came has a number, and one with a number has its record: on, the records
 * come first, off, the callbacks go first. So a call without a number was made while its records
 * were off. Safe in any thread at any time once CUPTI was subscribed to before the first context;
 * takes 10 to 100 us.
 */
#ifndef XFS_KINDS_H
#define XFS_KINDS_H

#include <stdbool.h>

#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

/* The result of what cannot be done without; XCP_SUCCESS otherwise. */
xcp_result xfs_kinds_on(const struct xcp_library *library, xcp_subscriber subscriber,
                        enum xft_records kind);
void xfs_kinds_off(const struct xcp_library *library, xcp_subscriber subscriber,
                   enum xft_records kind);

#endif
