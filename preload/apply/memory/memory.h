/*
 * Memory of our own that is to be page-locked: how it is mapped, and how much there is of it.
 */
#ifndef XFS_APPLY_MEMORY_H
#define XFS_APPLY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* How large pages lie, and page-locked memory of the driver's. */
#define XFS_LARGE_PAGE ((size_t)2 << 20)

/* Zeroed memory that lies so, as many bytes, for munmap(). sharing: MAP_PRIVATE or MAP_SHARED.
 * NULL: there is none. */
char *xfs_map_aligned(size_t bytes, int sharing);

/* What is page-locked of ours in this process, bytes: the program's own allocations do not count.
 */
uint64_t xfs_locked_bytes(void);
void xfs_locked_more(uint64_t bytes);
void xfs_locked_less(uint64_t bytes);

/* In a forked child, which has none of it. */
void xfs_locked_after_fork(void);

#endif
