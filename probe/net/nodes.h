/*
 * Messages by NUMA node: on a machine with several nodes the link to the network belongs to one of
 * them, and messages of the others cross the machine first. Both ranks of a pair are bound to a
 * node each, thread and memory, and the leader measures as it does unbound, in fewer sizes.
 *
 * A launcher may have bound a rank to one processor (Open MPI does so with two ranks): the ranks go
 * to their nodes all the same, and back.
 */
#ifndef XFP_NET_NODES_H
#define XFP_NET_NODES_H

#include "probe/net/exchange.h"

/* Pairs of nodes of two ranks that are measured; where there are more, each node still is. */
#define XFP_NET_MOST_NODE_PAIRS 16

/* How many: 0 where both ranks have one node; else the node of a rank with one is -1. */
size_t xfp_net_node_pairs(const struct xfp_net_nodes *own, const struct xfp_net_nodes *peers,
                          struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS]);

/* Thread and memory of messages go to that node; -1: where they were when the program began. 0, or
 * -1 with the session's error, and they are there. */
int xfp_net_place(struct xfp_net_link *link, int node);

/* Has any rank several nodes? */
bool xfp_net_has_nodes(const struct xfp_net_run *run);

#endif
