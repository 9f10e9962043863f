/*
 * What ran comes in the order of the calls that asked for it; here it is put into the order in
 * which it began. At most XFA_ORDER_MOST wait for those that came later and began earlier: what is
 * late by more goes on out of order. Private to timeline/.
 */
#ifndef XFA_TIMELINE_ORDER_H
#define XFA_TIMELINE_ORDER_H

#include "analyzer/timeline/tracks.h"

#define XFA_ORDER_MOST (1u << 15)

/* What something that ran says of its GPU's time, and of its process's. */
enum xfa_activity {
    XFA_ACTIVE_KERNEL,
    XFA_ACTIVE_TRANSFER,
    XFA_ACTIVE_STALL, /* managed memory that kernels of the GPU wait for: moved to it, or a fault
                         served */
    XFA_ACTIVE_WAIT,  /* of a thread: for all GPUs of the process */
    XFA_ACTIVITIES
};

struct xfa_span {
    struct xfa_track_key track;
    bool drawn; /* else it is in no track */
    uint8_t activity;
    int16_t gpu; /* -1: none's; a wait is everybody's */
    uint32_t name;
    uint64_t start, end; /* ns since the process's start */
    uint64_t bytes;
};

struct xfa_order {
    struct xfa_order_item {
        uint64_t start;
        uint32_t place; /* among the spans; behind `count` those of spans that were taken */
    } * heap;           /* the first began first */
    struct xfa_span *spans;
    size_t count, freed, capacity;
};

void xfa_order_free(struct xfa_order *order);
void xfa_order_put(struct xfa_order *order, const struct xfa_span *span);
/* The one that is due; `all`: nothing more comes. False: none is. */
bool xfa_order_take(struct xfa_order *order, bool all, struct xfa_span *span);

#endif
