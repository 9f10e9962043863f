/*
 * Pairs of devices with peer access, from the calls cudaDeviceEnablePeerAccess and
 * cuCtxEnablePeerAccess. Access that belongs to memory (pools, cuMemSetAccess, IPC) is not
 * included. Access in one direction is enough: the driver then copies directly.
 */
#ifndef XFS_PEERS_H
#define XFS_PEERS_H

#include <stdbool.h>

void xfs_peers_set(int device, int peer, bool enabled);
bool xfs_peers_enabled(int one, int other);

/* Contexts were destroyed, or this is a forked child. */
void xfs_peers_clear(void);

#endif
