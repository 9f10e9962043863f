/*
 * Texts that events refer to by number (NAMES segments): kernels, NVTX ranges. Each is kept once.
 *
 * Like the stacks' table: read without a lock, keyed by a 64-bit hash of the text; a new text is in
 * the file before anybody learns its id.
 */
#ifndef XFS_NAMES_H
#define XFS_NAMES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_recorder;

#define XFS_NAME_SLOTS (1u << 16) /* at most three quarters of them are used */

struct xfs_name_slot {
    uint64_t hash; /* 0 = empty */
    uint32_t id;   /* valid when hash is */
    uint32_t reserved;
};

struct xfs_names {
    pthread_mutex_t lock;
    struct xfs_name_slot *slots; /* NULL: no memory, every id is 0 */
    uint32_t count;
};

void xfs_names_init(struct xfs_names *names);

/* Id of the text, cut at XFT_NAME_MOST bytes; 0 when it is empty or could not be kept. */
uint32_t xfs_names_intern(struct xfs_recorder *recorder, const char *text, size_t bytes);

#endif
