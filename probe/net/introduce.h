/*
 * The ranks get to know each other: all of one version, which machine and GPU each has, what MPI
 * each runs, whether that takes device memory.
 */
#ifndef XFP_NET_INTRODUCE_H
#define XFP_NET_INTRODUCE_H

#include "probe/net/net.h"

/* Opens the session, chooses the GPU, fills hellos and the profile's list of ranks. 0, or the exit
 * status, the same for all, after rank 0's line. */
int xfp_net_introduce(struct xfp_net_run *run);

#endif
