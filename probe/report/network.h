/*
 * What a profile says of the network: a table for people, and sentences. Private to probe/report/.
 */
#ifndef XFP_NETWORK_REPORT_H
#define XFP_NETWORK_REPORT_H

#include <stdio.h>

#include "xferscope/profile_network.h"

/* A row for each pair of ranks and direction; of one pair also a row for each size of its staged
 * copies. Nothing when there is no network. 0, or -1 on a write error. */
int xfp_print_network(const struct xfp_profile *profile, FILE *out);

/* What the network is worth, and which staging is best from which size on. */
void xfp_print_network_words(const struct xfp_profile *profile, FILE *out);

/* The smallest size from which on the ring (4B) is faster than one buffer (2B) at every size, by
 * more than XFP_SUMMARY_PART; 0: none. */
uint64_t xfp_net_ring_pays_from(const struct xfp_net_staged *staged);

/* The smallest size that reaches half of the best bandwidth. */
uint64_t xfp_net_half_bytes(const struct xfp_net_path *path);

/* The point of the most bytes per second; NULL without points. */
const struct xfp_point *xfp_net_best(const struct xfp_net_path *path);
/* The same of a collective, which has points. */
const struct xfp_point *xfp_net_best_of(const struct xfp_net_collective *collective);

/* Whether it is of messages of MPI: of host memory, or of devices'. */
bool xfp_net_is_of(const struct xfp_net_protocol *protocol, bool devices);

#endif
