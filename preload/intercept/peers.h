/*
 * Between which devices peer access is on, as far as calls tell: cudaDeviceEnablePeerAccess and
 * cuCtxEnablePeerAccess. Access that memory brings with it (pools, cuMemSetAccess, IPC) is not
 * known here. Access of either device to the other counts: the driver copies directly then.
 */
#ifndef XFS_PEERS_H
#define XFS_PEERS_H

#include <stdbool.h>

void xfs_peers_set(int device, int peer, bool enabled);
bool xfs_peers_enabled(int one, int other);

/* Contexts were destroyed, or this is a forked child. */
void xfs_peers_clear(void);

#endif
