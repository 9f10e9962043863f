/*
 * Peer access between two GPUs.
 */
#ifndef XFP_BENCH_PEER_H
#define XFP_BENCH_PEER_H

#include "probe/session.h"

/* Enables or disables it in both directions, since either context may make the copy; a state that
 * already holds is no error. Opens both devices. 0, or -1 with the session's error. */
int xfp_set_peer_access(struct xfp_session *s, struct xfp_device *a, struct xfp_device *b, bool on);

#endif
