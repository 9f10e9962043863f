/*
 * A copy between the program's memory and the slots of a ring, cut into chunks that any thread may
 * take: the calling one and those of the team.
 *
 * Pieces go into slots in turn (piece i into slot i modulo their number), chunks are parts of one
 * piece. Chunks have numbers that grow for ever, over all operations: a chunk is taken by raising
 * `next`, as far as it is `open`. So a thread that is late finds nothing to take; what it has taken
 * keeps the operation from ending, and its fields valid.
 *
 * The program's memory is looked at before a piece is opened, so that a fault of it is the
 * program's, in its thread. What is there is touched by the calling thread, a byte a page. What is
 * not there yet (memory that was never touched) is asked of the kernel chunk by chunk, by the
 * thread that copies it (MADV_POPULATE_READ, _WRITE): where the kernel says that touching it would
 * fault, the operation is `bad`, and is made as the program asked. A kernel that cannot do that has
 * all of it touched.
 *
 * Or memory of the program is hashed in chunks (sum.h).
 */
#ifndef XFS_APPLY_JOB_H
#define XFS_APPLY_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/guard.h"

#define XFS_JOB_SLOTS 8

/* XXH3's of 128 bits. */
struct xfs_sum {
    uint64_t low, high;
};
struct xfs_sum xfs_sum_of(const void *bytes, size_t count);

struct xfs_job {
    _Atomic uint64_t next, open, done; /* chunks taken; that may be taken; copied */
    atomic_bool bad;
    atomic_bool going; /* an operation is under way: more chunks may be opened (team.h) */
    _Atomic uint32_t left[XFS_JOB_SLOTS]; /* chunks of the piece in this slot that are not copied */

    /* Of one operation; changed only while next, open and done are the same. */
    uint64_t base; /* number of its first chunk */
    char *slots, *program;
    size_t bytes, slot_bytes, piece_bytes, chunk_bytes;
    uint32_t chunks; /* in a piece */
    bool up;         /* from the program's memory into the slots */
    bool fills;      /* makes the program's memory be there, and copies nothing */
    bool clears;     /* and writes zeros */
    bool asks;       /* the kernel can make the program's memory be there, without faults */
    const struct xfs_guard *guard; /* of the calling thread; NULL: none */
    bool sure[XFS_JOB_SLOTS];      /* the program's memory of the piece in this slot is there */
    /* Not NULL: the program's memory is hashed instead, chunk by chunk, in one piece. */
    struct xfs_sum *sums;
};

/* Piece number `piece` of the operation, the next in turn, may be copied. False, and it is not
 * opened: the program's memory is not there. Faults of it are raised here. */
bool xfs_job_open(struct xfs_job *job, uint64_t piece);

/* The calling thread has nothing to do before others have copied: `rounds` of it so far, in turn.
 * After some it sleeps for moments: whoever copies may have been put off this thread's processor by
 * its priority. */
void xfs_job_pause(unsigned *rounds);

/* Copies one chunk; false: none is open. Keeps nothing, touches no CUDA. */
bool xfs_job_step(struct xfs_job *job);

/* The operation is over: no more chunks are taken; returns when those that were taken are copied.
 */
void xfs_job_close(struct xfs_job *job);

/* Whether the kernel has MADV_POPULATE_WRITE, tried on a page of our own. */
bool xfs_job_can_ask(void *own_page);

#endif
