/*
 * CUPTI as the recorder attaches it (docs/timing.md): the same callbacks, kinds of record, buffers
 * and clock, switched on and off as a whole. It serves to measure their cost; of the records
 * themselves moves of managed memory are counted, and the times of kernels taken.
 *
 * For a process of its own with a single thread: switching while other threads use CUDA crashes
 * programs. Subscribe after the driver is open and before the first context; everything after that
 * with the device idle. CUPTI is never unloaded: it does not survive that.
 */
#ifndef XFP_CUPTI_H
#define XFP_CUPTI_H

#include "probe/device/device.h"

/* Finds CUPTI and subscribes. 0, or -1 with the system's error: there is no CUPTI, or another
 * profiler is subscribed. */
int xfp_cupti_subscribe(struct xfp_system *sys);

/* Clock and buffers, before the first switch. 0, or -1 with the system's error. */
int xfp_cupti_prepare(struct xfp_system *sys);

/* All callbacks and kinds of record that the recorder asks for. 0, or -1 with the system's error:
 * CUPTI does not give them here. */
int xfp_cupti_switch(struct xfp_system *sys, bool on);

/* Only the counters of managed memory, which cost time per migration and nothing else. 0, or -1
 * with the system's error: CUPTI does not give them here. */
int xfp_cupti_switch_moves(struct xfp_system *sys, bool on);

/* How many moves to a device, and to the host, were collected since it was asked last. */
struct xfp_moves {
    size_t to_device, to_host;
};
struct xfp_moves xfp_cupti_moves(void);

/* Takes the records that have arrived so far and frees their buffers, as the recorder's thread
 * does. Returns their bytes. */
size_t xfp_cupti_collect(void);

/* Takes all records that there are, also of buffers that are not full, and writes what kernels of
 * these took to ns, which has this much room. Returns how many were written. */
size_t xfp_cupti_kernels(double *ns, size_t room);

#endif
