/*
 * Device times of calls: the DEVICE_COPY events of a process by correlation id.
 *
 * Ids may be used again, records may come twice and in any order. The copies of a call are those
 * with its id that did not end before the call was made, up to the call's number of bytes; its
 * time is from the first one's start to the last one's end (a batch, or a staged copy, has
 * several).
 */
#ifndef XFA_JOIN_H
#define XFA_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

struct xfa_device_copy {
    uint32_t correlation;
    uint8_t direction, src_mem, dst_mem;
    bool used; /* a call was found for it */
    uint64_t start_ns, end_ns, bytes;
};

struct xfa_join {
    struct xfa_device_copy *copies;
    size_t count, capacity;
};

/* First all copies, then xfa_join_ready(), then look-ups. */
void xfa_join_add(struct xfa_join *join, const struct xft_event *device_copy);
void xfa_join_ready(struct xfa_join *join);

/* The device's time for a call, NULL when none was recorded. *ns is positive then. */
const struct xfa_device_copy *xfa_join_find(struct xfa_join *join, const struct xft_event *call,
                                            double *ns);

/* Copies nobody asked for by a recorded call (a graph's, for instance). */
void xfa_join_unused(const struct xfa_join *join, uint64_t *copies, uint64_t *bytes);

void xfa_join_free(struct xfa_join *join);

#endif
