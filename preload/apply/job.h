/*
 * A copy between the program's memory and the slots of a ring, cut into chunks that any thread may
 * take: the calling one and those of the team.
 *
 * Pieces go into slots in turn (piece i into slot i modulo their number), chunks are parts of one
 * piece. Chunks have numbers that grow for ever, over all operations: a chunk is taken by raising
 * `next`, as far as it is `open`. So a thread that is late finds nothing to take; what it has taken
 * keeps the operation from ending, and its fields valid.
 *
 * The program's memory is looked at before it is touched (MADV_POPULATE_READ, _WRITE): where the
 * kernel says that touching it would fault, the operation is `bad`, and is made as the program
 * asked.
 *
 * Or memory of the program is hashed in chunks (sum.h).
 */
#ifndef XFS_APPLY_JOB_H
#define XFS_APPLY_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFS_JOB_SLOTS 8

/* XXH3's of 128 bits. */
struct xfs_sum {
    uint64_t low, high;
};
struct xfs_sum xfs_sum_of(const void *bytes, size_t count);

struct xfs_job {
    _Atomic uint64_t next, open, done; /* chunks taken; that may be taken; copied */
    atomic_bool bad;
    _Atomic uint32_t left[XFS_JOB_SLOTS]; /* chunks of the piece in this slot that are not copied */

    /* Of one operation; changed only while next, open and done are the same. */
    uint64_t base; /* number of its first chunk */
    char *slots, *program;
    size_t bytes, slot_bytes, piece_bytes, chunk_bytes;
    uint32_t chunks; /* in a piece */
    bool up;         /* from the program's memory into the slots */
    bool looks;      /* the kernel can be asked about the program's memory */
    /* Not NULL: the program's memory is hashed instead, chunk by chunk, in one piece. */
    struct xfs_sum *sums;
};

/* The next piece may be copied. */
void xfs_job_open(struct xfs_job *job, uint32_t slot);

/* Copies one chunk; false: none is open. Keeps nothing, touches no CUDA. */
bool xfs_job_step(struct xfs_job *job);

/* No more chunks are taken; returns when those that were taken are copied. */
void xfs_job_close(struct xfs_job *job);

/* Whether the kernel can be asked about memory before it is touched. Makes a system call. */
bool xfs_job_can_look(void *own_page);

#endif
