/*
 * A pitched copy: its rows are contiguous on the device, and on the host twice their length apart
 * (2D); layers of rows (3D) are twice their height apart there.
 */
#ifndef XFP_PITCHED_H
#define XFP_PITCHED_H

#include "probe/device/buffer.h"
#include "probe/measure/stats.h"
#include "probe/session.h"

struct xfp_pitched_copy {
    struct xfp_device *device;
    struct xfp_buffer host, there; /* of xfp_pitched_host_bytes(), and of `total` bytes */
    bool to_device;
    bool layers;       /* three dimensions: layers of 16 rows */
    size_t total, row; /* bytes; total is a multiple of row */
};

/* Size of the host buffer in bytes, the space between the rows included. */
size_t xfp_pitched_host_bytes(const struct xfp_pitched_copy *copy);

/* Measures the asynchronous form on the device's clock, within the budget of wall time, and
 * compares the data when the session verifies. 0, or -1 with the session's error. */
int xfp_measure_pitched(struct xfp_session *s, struct xfp_pitched_copy *copy, uint64_t budget_ns,
                        struct xfp_stats *stats);

#endif
