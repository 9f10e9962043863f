/*
 * A copy of rows that do not follow each other in the host's memory: there they are a part of
 * something twice as wide, and layers of them (of three dimensions) of something twice as high; on
 * the device they follow each other.
 */
#ifndef XFP_ROWS_H
#define XFP_ROWS_H

#include "probe/device/buffer.h"
#include "probe/measure/stats.h"
#include "probe/session.h"

struct xfp_rows_copy {
    struct xfp_device *device;
    struct xfp_buffer host, there; /* of xfp_rows_host_bytes(), and of `total` bytes */
    bool to_device;
    bool layers;       /* three dimensions: layers of 16 rows */
    size_t total, row; /* bytes; total is a multiple of row */
};

/* Room that the rows take on the host, with what lies between them. */
size_t xfp_rows_host_bytes(const struct xfp_rows_copy *copy);

/* The device's time of the asynchronous form, within the budget of wall time; the data is compared
 * where that is the rule. 0, or -1 with the session's error. */
int xfp_measure_rows(struct xfp_session *s, struct xfp_rows_copy *copy, uint64_t budget_ns,
                     struct xfp_stats *stats);

#endif
