/*
 * Whether kernels change what copies brought to the device, or fetched from it (record --verify; a
 * diagnostic run, which is slower): the LAUNCH event says which of its pointers reach nothing that
 * it changed.
 *
 * Watched is device memory as copies of one contiguous piece of XFS_VERIFY_LEAST bytes and more
 * left or found it; at most XFS_VERIFY_MOST pieces of XFS_VERIFY_BYTES at a time. A piece is
 * fetched when its copy is done, and again after each launch that is given a pointer from which it
 * can be reached: this thread waits until the launch's stream is idle, for WAIT_NS at most (a
 * kernel may wait for what the host does next), and fetches it into memory of our own, in a stream
 * of our own, so that nothing else is waited for. Equal hashes: the kernel left it as it was.
 *
 * Left alone: launches in captured streams and graphs, in another context than the current one, all
 * launches once a second thread makes some (they run beside each other), and what is beyond the
 * share of the time (XFERSCOPE_VERIFY_SHARE percent since recording began, and 0.2 s). Nothing is
 * said of them, nor of launches that reach memory of copies that is not watched; nor of the next
 * launch, since what they left is not known. Fills (cudaMemset) are waited for in the same way, and
 * what they meet is fetched again, so that nothing of theirs is put down to a launch.
 *
 * The functions keep errno. They are called only while it is on.
 */
#ifndef XFS_VERIFY_H
#define XFS_VERIFY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"
#include "xferscope/trace.h"

#define XFS_VERIFY_LEAST 1024u
#define XFS_VERIFY_MOST 256
#define XFS_VERIFY_BYTES (256u << 20)
#define XFS_VERIFY_POINTERS 32 /* of a launch: two bits each */

extern atomic_bool xfs_verify_watching;

static inline bool xfs_verify_on(void)
{
    return __builtin_expect(atomic_load_explicit(&xfs_verify_watching, memory_order_relaxed), 0);
}

/* A copy was called; one: it is of one piece. */
void xfs_verify_copied(const struct xft_event *event, bool one);
/* Memory was filled from event->dst on, in rows that end at `end`. */
void xfs_verify_filled(const struct xft_event *event, uint64_t end);
/* Something copied that is not described well enough: from now on nothing is said. */
void xfs_verify_unseen(void);
/* Work was submitted that may have changed any of it. */
void xfs_verify_unknown(void);
/* Memory was freed. */
void xfs_verify_forget(uint64_t start, uint64_t end);

/* A pointer that a launch was given, and where its allocation ends. */
struct xfs_verify_pointer {
    uint64_t address, end;
};
/* Bit k: all that was copied and can be reached from pointer k is as it was before the launch; bit
 * 32 + k: some of it is not. */
uint64_t xfs_verify_launched(const struct xfs_verify_pointer *pointers, unsigned count,
                             xcu_stream stream, bool per_thread);

void xfs_verify_session_start(bool seen); /* seen: copies are reported, as contents are hashed */
void xfs_verify_finish(void);             /* writes counts to META */
void xfs_verify_after_fork(void);

#endif
