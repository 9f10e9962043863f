/*
 * CUPTI as the recorder attaches it (docs/timing.md): the same callbacks, kinds of record, buffers
 * and clock, switched on and off as a whole. For what that costs; the records themselves are thrown
 * away.
 *
 * For a process of its own with a single thread: switching while other threads use CUDA crashes
 * programs. Subscribe after the driver is open and before the first context; everything after that
 * with the device idle. CUPTI is never unloaded: it does not survive that.
 */
#ifndef XFP_CUPTI_H
#define XFP_CUPTI_H

#include "probe/device/device.h"

/* Finds CUPTI and takes its one subscription. 0, or -1 with the system's error: there is none, or
 * another profiler has it. */
int xfp_cupti_subscribe(struct xfp_system *sys);

/* Clock and buffers, before the first switch. 0, or -1 with the system's error. */
int xfp_cupti_prepare(struct xfp_system *sys);

/* All callbacks and kinds of record that the recorder asks for. 0, or -1 with the system's error:
 * CUPTI does not give them here. */
int xfp_cupti_switch(struct xfp_system *sys, bool on);

/* The counters of managed memory alone, which cost what moves and nothing else. 0, or -1 with the
 * system's error: CUPTI does not give them here. */
int xfp_cupti_switch_moves(struct xfp_system *sys, bool on);

/* How many moves to a device, and to the host, were collected since it was asked last. */
struct xfp_moves {
    size_t to_device, to_host;
};
struct xfp_moves xfp_cupti_moves(void);

/* Takes the records that have come so far and gives their memory back, as the recorder's thread
 * does beside the program. Returns their bytes. */
size_t xfp_cupti_collect(void);

#endif
