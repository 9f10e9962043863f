/*
 * The budget (XFERSCOPE_BUDGET): switches parts of CUPTI's records off, each once and for good,
 * when recording costs more than it may (allowance.h). In the thread that makes the recorder's
 * calls of CUPTI.
 *
 * CUPTI does not survive kinds that are switched again and again while the program calls CUDA
 * (docs/timing.md). So a kind is never switched on again, and off only while no recorded call is
 * under way (record/hold.h); when calls stay in the driver it is tried again later, more and more
 * rarely. CUPTI is asked for the records that it holds before; its callbacks are left alone.
 *
 * From the moment on at which the copies' records are off, a sample of the asynchronous copies is
 * timed by CUDA events (event_pairs.h).
 */
#ifndef XFS_GIVE_WAY_H
#define XFS_GIVE_WAY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "preload/timing/allowance.h"
#include "xferscope/cupti_abi.h"

/* CUPTI's records of copies are on: its numbers join calls with records. */
extern atomic_bool xfs_copies_recorded;

/* Records have been switched on; `records`: which, a sum of enum xft_records. */
void xfs_give_way_start(const struct xcp_library *cupti, unsigned records);

/* Kernels' records have been switched on, later than the others. */
void xfs_give_way_kernels_on(void);

/* Parts (trial.h) were not switched on at all, since they would cost more than the budget. */
void xfs_give_way_refused(unsigned refused);

/* A record of CUPTI's has become this event. */
void xfs_give_way_record(const struct xft_event *record);

/* Looks at the cost, and switches off what is to give way. From time to time. */
void xfs_give_way_look(void);

/* The next look should come soon: something is to be switched off. */
bool xfs_give_way_is_due(void);

/* Writes to the trace which of CUPTI's records arrive from now on: a sum of enum xft_records. */
void xfs_say_records(unsigned records);

#endif
