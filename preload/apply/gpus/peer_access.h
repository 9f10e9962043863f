/*
 * Peer access that we enabled between two contexts; calls of the program that enable or disable it
 * get what they would get if we had not.
 *
 * Access is enabled both ways, as it was measured (docs/probe.md), and tried with memory of our
 * own: there are machines whose GPUs say that they can, and bring other bytes (an IOMMU between
 * them). What the program enabled is never disabled by us.
 */
#ifndef XFS_APPLY_PEER_ACCESS_H
#define XFS_APPLY_PEER_ACCESS_H

#include "preload/apply/gpus/pairs.h"
#include "xferscope/cuda_abi.h"

/* Of a pair that is taken, while nothing runs in its contexts. Enabling: false, and nothing of ours
 * is enabled, where the driver refuses, the program has it already, or other bytes arrive. */
bool xfs_pair_enable(struct xfs_pair *pair);
void xfs_pair_disable(struct xfs_pair *pair);

/* In place of the program's calls, in the current context. */
int xfs_access_enable(xcu_result (*real)(xcu_context, unsigned), xcu_context peer, unsigned flags);
int xfs_access_disable(xcu_result (*real)(xcu_context), xcu_context peer);

/* Before a context ends: its access goes with it. */
void xfs_peer_access_leave(xcu_context context);

#endif
