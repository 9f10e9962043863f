/*
 * Directories of /proc whose entries are numbers, read by getdents64, since opendir() allocates.
 * `list` is the result of one call, aligned as struct xfs_entry.
 */
#ifndef XFS_LISTING_H
#define XFS_LISTING_H

#include <stdint.h>
#include <stdlib.h>

struct xfs_entry { /* the kernel's struct linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* The number of the entry at *at, which moves to the next; 0 for "." and "..". */
static inline int xfs_entry_number(const char *list, long *at)
{
    const struct xfs_entry *entry = (const struct xfs_entry *)(list + *at);
    *at += entry->length;
    return atoi(entry->name);
}

#endif
