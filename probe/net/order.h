/* What the leader of a pair has the other rank do with it (exchange.h). Private to probe/net/. */
#ifndef XFP_NET_ORDER_H
#define XFP_NET_ORDER_H

#include <stdint.h>

enum xfp_net_what {
    XFP_NET_END = 1, /* the leader has no more orders */
    XFP_NET_OPEN,    /* allocate what copies between GPUs need: `bytes` of each */
    XFP_NET_CLOSE,
    XFP_NET_PLACE,     /* both go to the NUMA nodes named; -1: back to where they began */
    XFP_NET_DO_PING,   /* `repeat` round trips of `bytes` */
    XFP_NET_DO_STREAM, /* `repeat` windows of `window` messages */
    XFP_NET_DO_BOTH,   /* the same, in both directions */
    XFP_NET_DO_RING,   /* a copy from GPU to GPU through `buffers` of `buffer_bytes` */
    XFP_NET_DO_POSTED, /* the same in pieces of `buffer_bytes`, all of which are begun at once */
    XFP_NET_DO_DIRECT, /* the same by MPI itself */
    XFP_NET_DO_FIRST,  /* `repeat` round trips of device memory, by MPI itself */
};

struct xfp_net_order {
    uint32_t what;
    uint32_t check; /* true: the follower clears its memory before and compares it after */
    uint32_t window, repeat, buffers;
    uint64_t bytes, buffer_bytes;
    int32_t leader_node, follower_node;
};

#endif
