/*
 * Hashing memory of the program without ever touching it in a way that could fault: the kernel
 * copies it (process_vm_writev with this process as its own target reads its source as any system
 * call reads a buffer). For memory that is gone or may not be read the result is false, not a
 * signal; pinned memory that a driver has mapped works like any other.
 *
 * What is hashed of n bytes (the rows concatenated, without the bytes between them):
 *
 *     whole     all n
 *     sampled   XFS_SAMPLE_BLOCKS blocks of XFS_SAMPLE_BLOCK bytes, one behind the other; block i
 *               starts at i * (n - XFS_SAMPLE_BLOCK) / (XFS_SAMPLE_BLOCKS - 1), rounded down: the
 *               first and the last bytes are in it. All n where that is no more.
 */
#ifndef XFS_HASH_H
#define XFS_HASH_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_SAMPLE_BLOCKS 64
#define XFS_SAMPLE_BLOCK 64
#define XFS_SAMPLE_BYTES ((size_t)XFS_SAMPLE_BLOCKS * XFS_SAMPLE_BLOCK)

/* One end of a transfer: depth slices of height rows of width bytes. */
struct xfs_rows {
    uint64_t address;
    uint64_t width, height, depth;
    uint64_t pitch; /* from a row to the next one */
    uint64_t slice; /* from a slice to the next one */
};

static inline uint64_t xfs_rows_bytes(const struct xfs_rows *rows)
{
    return rows->width * rows->height * rows->depth;
}

/* The first byte behind the last row. */
static inline uint64_t xfs_rows_end(const struct xfs_rows *rows)
{
    return rows->address + (rows->depth - 1) * rows->slice + (rows->height - 1) * rows->pitch +
           rows->width;
}

/* Whether this machine lets a process read its own memory in this way. */
bool xfs_hash_works(void);

/* False when a part could not be read. *hashed: the number of bytes hashed. */
bool xfs_hash_whole(const struct xfs_rows *rows, uint64_t *hash, uint64_t *hashed);
bool xfs_hash_sampled(const struct xfs_rows *rows, uint64_t *hash, uint64_t *hashed);

#endif
