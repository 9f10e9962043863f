/*
 * Which pairs of ranks are measured when: every pair once, and in one round none that shares a host
 * with another, so that no link is measured twice at once. A round-robin tournament (the circle
 * method), whose rounds are cut where pairs would meet on a host.
 */
#ifndef XFP_NET_ROUNDS_H
#define XFP_NET_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

struct xfp_net_pair {
    int a, b; /* ranks, a < b */
    int round;
};

struct xfp_net_rounds {
    size_t count; /* of pairs, by round */
    struct xfp_net_pair *pairs;
    int rounds;
};

/* hosts: by rank, a number for each host. loaded: the tournament's rounds as they are. The caller
 * frees rounds->pairs. 0, or -1 (out of memory). */
int xfp_net_make_rounds(int ranks, const int *hosts, bool loaded, struct xfp_net_rounds *rounds);

#endif
