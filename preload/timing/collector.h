/*
 * The thread that makes the recorder's calls of CUPTI (xferscope-gpu, all signals blocked): it
 * switches records on when requested, turns full buffers into events, and collects the rest at the
 * end. One per process.
 *
 * It polls for work, since waking it would be a system call in a thread of the program. A thread
 * that makes a request waits for a bounded time; if it goes on too early, only device times are
 * lost.
 */
#ifndef XFS_COLLECTOR_H
#define XFS_COLLECTOR_H

#include <stdbool.h>

#include "xferscope/cupti_abi.h"

enum xfs_order {
    XFS_ORDER_NONE,
    XFS_ORDER_RECORDS,
    XFS_ORDER_MANAGED,
    XFS_ORDER_LOOK, /* of its own, every now and then: what records cost, or would cost */
};

/* `carry_out` is called in the thread, once for each order. The library must stay loaded. False
 * when no thread can be started. */
bool xfs_collector_start(const struct xcp_library *library,
                         void (*carry_out)(enum xfs_order order));

/* From any thread of the program: requests, and waits until it is done or 0.3 s are over; sleeping
 * or, where the program has forbidden itself system calls, spinning. False when the request could
 * not be made. */
bool xfs_collector_ask(enum xfs_order order);

/* Called by `carry_out`: records arrive from here on. */
void xfs_collector_records_on(void);
bool xfs_collector_has_records(void);

/* The last records were left in CUPTI, since it had no room to work in (headroom.h). */
bool xfs_collector_cramped(void);

/* Records are on, or will never be: no further request is needed. */
void xfs_collector_decide(void);
bool xfs_collector_is_decided(void);

/* Collects what CUPTI still holds and ends the thread; true also when there is none. False when it
 * hangs in CUPTI for XFS_TIMING_FINISH_MS: then it is not joined, and records nothing more. */
bool xfs_collector_stop(void);

#endif
