/*
 * What the device has: the last uploads of whole runs of bytes, by where they went, and whether
 * anything may have been written there since.
 *
 * An upload is remembered with a hash of its 128 bits and the count of writes that nobody can place
 * (writes.h) at that time. One that is remembered still holds when that
 * count is the same and no placed write has met its range.
 *
 * At most XFS_UPLOADS are remembered; a new one takes the place of the one that was asked for least
 * lately. All of it is behind one lock, which is held for no longer than a walk over them; where
 * the lock is held by another thread (or by this one, below a signal handler), a write counts as
 * one that nobody can place, and a question as unanswered.
 */
#ifndef XFS_APPLY_UPLOADS_H
#define XFS_APPLY_UPLOADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define XFS_UPLOADS 256

struct xfs_upload {
    uint64_t dst, bytes;
    uint64_t hash[2];
    uint64_t buffer;         /* number of the allocation that dst is in, which no other has */
    uintptr_t stream, order; /* the copy's stream; what else its order hangs on: context, thread */
};

/* Before a call that writes there. */
void xfs_uploads_written(uint64_t dst, uint64_t bytes);

/* Nothing is remembered any more. */
void xfs_uploads_forget(void);

/* Around an upload, in place of xfs_uploads_written(): it is remembered if it succeeded, and
 * nothing was written there meanwhile. 0: it will not be. */
uint64_t xfs_upload_begins(const struct xfs_upload *upload);
void xfs_upload_ends(uint64_t number, bool succeeded);

/* Does the device have exactly this? kernels_keep: launches write nothing there. */
bool xfs_uploads_have(const struct xfs_upload *upload, bool kernels_keep);

void xfs_uploads_after_fork(void);

#endif
