/*
 * Work of one context that uses memory of another one, to which it has access only since we enabled
 * it (peers.h), until it is over. Without access such work is that of both contexts: freeing memory
 * of either one waits for it, and so does a wait for all work of either one. With access it is work
 * of one, and memory could be freed under it. On two H200s that was cudaErrorLaunchFailure
 * (docs/results/apply-same-h200-2026-11-28-rest.md). So we wait where the program's call would have
 * waited.
 *
 * What such work is says crossed.h. Nothing is to be done before any access was ours
 * (xfs_pairs_ours()).
 */
#ifndef XFS_APPLY_CROSSINGS_H
#define XFS_APPLY_CROSSINGS_H

#include <stdbool.h>

#include "xferscope/cuda_abi.h"

/* Of a stream's context `by`, with up to two others, or with `any` that has access of ours. */
struct xfs_crossing {
    xcu_context by, with[2];
    xcu_stream stream; /* by a handle that means the same in every function */
    bool any;
};

/* Behind the call that gave it to its stream. */
void xfs_crossings_note(const struct xfs_crossing *crossing);

/* Before this memory is freed: waits for what other contexts have with its context. */
void xfs_crossings_free(xcu_deviceptr memory);

/* The same for a context, NULL: the current one; before a wait for all of its work, or before its
 * access to another one ends. */
void xfs_crossings_wait(xcu_context context);

/* Before a stream of the program ends: another one may get its handle. */
void xfs_crossings_forget(xcu_stream stream);

/* Before a context ends: the same as if all of its memory were freed, and what is its own is
 * forgotten. NULL: it is not known which. */
void xfs_crossings_leave(xcu_context context);

void xfs_crossings_after_fork(void);

#endif
