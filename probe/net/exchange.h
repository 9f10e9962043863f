/*
 * What two ranks do together: the leader sends an order, the other says that it is ready and
 * follows, and answers how it went. The time counts between "ready" and the end, on the leader's
 * clock.
 */
#ifndef XFP_NET_EXCHANGE_H
#define XFP_NET_EXCHANGE_H

#include "probe/net/net.h"
#include "probe/net/order.h"
#include "probe/net/stage.h"

#define XFP_NET_WINDOW 64 /* messages, as in the OSU benchmarks */

struct xfp_net_node_pair {
    int own, peers; /* NUMA nodes */
};

/* Both ends of a pair, as one of them sees it. */
struct xfp_net_link {
    struct xfp_net_run *run;
    int peer;
    struct xfp_net_stage stage; /* memory for copies between GPUs; empty until XFP_NET_OPEN */
    MPI_Request requests[2 * XFP_NET_WINDOW];
    unsigned char *sent, *received; /* memory of messages: the session's, or as nodes.c has it */
    size_t bytes;                   /* of each, where it is bound to a node; 0: the session's */
    bool bound;                     /* of a leader: it measures by node */
    bool devices_met;               /* they have given MPI device memory of each other's */
    struct xfp_net_node_pair nodes;
};

/* Unbound. What it holds is given back when its ranks are (XFP_NET_PLACE, XFP_NET_CLOSE). */
struct xfp_net_link xfp_net_link_to(struct xfp_net_run *run, int peer);

/* Leads one order. times: of each of `repeat` windows or copies, of PING of half a round trip (one
 * figure); NULL when the times are not needed. 0, or -1 with the session's error: the follower
 * could not, or found wrong data. */
int xfp_net_lead(struct xfp_net_link *link, const struct xfp_net_order *order, double *times);

/* The leader has no more orders. */
void xfp_net_end_orders(struct xfp_net_link *link);

/* Follows orders until then. */
void xfp_net_follow(struct xfp_net_link *link);

#endif
