/*
 * What ran comes in the order of the calls that asked for it; here it is put into the order in
 * which it began. At most XFA_ORDER_MOST wait for those that came later and began earlier: what is
 * late by more goes on out of order. What began at the same time stays as it came. Private to
 * timeline/.
 */
#ifndef XFA_TIMELINE_ORDER_H
#define XFA_TIMELINE_ORDER_H

#include "analyzer/timeline/tracks.h"

#define XFA_ORDER_MOST (1u << 15)

/* What something that ran says of its GPU's time, and of its process's. */
enum xfa_activity {
    XFA_ACTIVE_KERNEL,
    XFA_ACTIVE_TRANSFER,
    XFA_ACTIVE_STALL,  /* managed memory that kernels of the GPU wait for: moved to it, or a fault
                          served */
    XFA_ACTIVE_WAIT,   /* of a thread: for all GPUs of the process */
    XFA_ACTIVE_LAUNCH, /* the same, of a call that launches a kernel */
    XFA_ACTIVITIES,
    /* None: from here on, or until here, a range of the phase `name` (phase_shares.h) is open. */
    XFA_PHASE_OPENS = XFA_ACTIVITIES,
    XFA_PHASE_CLOSES
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

#define XFA_ORDER_ROWS 16

struct xfa_order_item {
    struct xfa_span span;
    uint64_t number; /* as it came */
};

/* What comes from a few threads and engines, each nearly in order, lies in as many rows that are;
 * a heap has what fits in none. */
struct xfa_order {
    struct xfa_order_row {
        struct xfa_order_item *items;
        size_t first, end, capacity; /* from one to before the other */
        uint64_t last;               /* when its last began */
    } rows[XFA_ORDER_ROWS];
    struct xfa_order_item *heap;
    size_t heap_count, heap_capacity;
    size_t waiting; /* in all */
    uint64_t number;
};

void xfa_order_free(struct xfa_order *order);
void xfa_order_put(struct xfa_order *order, const struct xfa_span *span);
/* The one that is due; `all`: nothing more comes. False: none is. */
bool xfa_order_take(struct xfa_order *order, bool all, struct xfa_span *span);

#endif
