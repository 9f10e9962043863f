/*
 * Copies between GPUs that have access to each other only since we enabled it (peers.h), until they
 * are over. Without access a copy is work of both contexts, and freeing memory of either one waits
 * for it; with access it is work of one, and memory could be freed under it. On two H200s that was
 * cudaErrorLaunchFailure (docs/results/apply-same-h200-2026-11-28-rest.md). So we wait where the
 * program's call would have waited.
 *
 * Followed are copies that between.h looks at, of any size. Not followed: 2D and 3D copies between
 * GPUs, and those of graphs. Nothing is to be done before any access was ours (xfs_pairs_ours()).
 */
#ifndef XFS_APPLY_CROSSINGS_H
#define XFS_APPLY_CROSSINGS_H

#include "preload/apply/between.h"
#include "xferscope/cuda_abi.h"

/* The copy, which was looked at, was given to its stream as the program asked for it. */
void xfs_crossings_note(const struct xfs_between *copy);

/* Before this memory is freed: waits for those that another context has with its context. */
void xfs_crossings_free(xcu_deviceptr memory);

/* Before a stream of the program ends: another one may get its handle. */
void xfs_crossings_forget(xcu_stream stream);

/* Before a context ends: the same as if all of its memory were freed. NULL: it is not known which.
 */
void xfs_crossings_leave(xcu_context context);

void xfs_crossings_after_fork(void);

#endif
