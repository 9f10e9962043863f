/*
 * Peer access between two GPUs.
 */
#ifndef XFP_BENCH_PEER_H
#define XFP_BENCH_PEER_H

#include "probe/session.h"

/* Enables or disables it both ways, since either context may be asked; what was already so counts
 * as done. Opens both devices. 0, or -1 with the session's error. */
int xfp_set_peer_access(struct xfp_session *s, struct xfp_device *a, struct xfp_device *b, bool on);

#endif
