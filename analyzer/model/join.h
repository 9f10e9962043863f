/*
 * Device times of calls: the DEVICE_COPY events of a process by correlation id.
 *
 * Ids may be used again, records may come twice and in any order, and a graph's launch has one id
 * for many copies. A call's copy is the first with its id and its number of bytes that did not end
 * before the call was made; without one, the first several up to that number of bytes (a batch, a
 * staged copy), timed from the first one's start to the last one's end. Each copy serves one call.
 * A copy between devices without peer access has two, each of all its bytes: to the host and from
 * it.
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
    uint32_t skip; /* in the first copy of an id: how many from there on are used up */
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
