/*
 * The thread that makes the recorder's calls of CUPTI (xferscope-gpu, all signals blocked): it
 * switches records on when it is asked to, turns full buffers into events, and collects the rest at
 * the end. One per process.
 *
 * It looks for work by itself, since waking it would be a system call in a thread of the program.
 * Who asks waits for it, but not for ever: a thread that goes on too early loses device times and
 * nothing else.
 */
#ifndef XFS_COLLECTOR_H
#define XFS_COLLECTOR_H

#include <stdbool.h>

#include "xferscope/cupti_abi.h"

enum xfs_order { XFS_ORDER_NONE, XFS_ORDER_RECORDS, XFS_ORDER_MANAGED };

/* `carry_out` is called in the thread, once for each order. The library must stay. False when there
 * is no thread to be had. */
bool xfs_collector_start(const struct xcp_library *library,
                         void (*carry_out)(enum xfs_order order));

/* From any thread of the program: asks, and waits until it is done or 0.3 s are over; napping, or,
 * where the program has forbidden itself system calls, awake. False when it could not even ask. */
bool xfs_collector_ask(enum xfs_order order);

/* Records come from here on: said by `carry_out`. */
void xfs_collector_records_on(void);
bool xfs_collector_has_records(void);

/* The last records were left in CUPTI, since it had no room to work in (headroom.h). */
bool xfs_collector_cramped(void);

/* What was to be switched on is on, or never will be: nobody need ask any more. */
void xfs_collector_settle(void);
bool xfs_collector_settled(void);

/* Collects what CUPTI still holds and ends the thread; true also when there is none. False when it
 * hangs in CUPTI for XFS_TIMING_FINISH_MS: it is left alone, and records nothing more. */
bool xfs_collector_stop(void);

#endif
