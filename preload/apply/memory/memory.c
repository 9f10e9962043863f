#include "preload/apply/memory/memory.h"

#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic uint64_t locked;

char *xfs_map_aligned(size_t bytes, int sharing)
{
    size_t all = bytes + XFS_LARGE_PAGE;
    char *map = mmap(NULL, all, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    size_t before = (XFS_LARGE_PAGE - (uintptr_t)map % XFS_LARGE_PAGE) % XFS_LARGE_PAGE;
    if (before)
        munmap(map, before);
    munmap(map + before + bytes, all - before - bytes);
    return map + before;
}

uint64_t xfs_locked_bytes(void)
{
    return atomic_load(&locked);
}

void xfs_locked_more(uint64_t bytes)
{
    atomic_fetch_add(&locked, bytes);
}

void xfs_locked_less(uint64_t bytes)
{
    atomic_fetch_sub(&locked, bytes);
}

void xfs_locked_after_fork(void)
{
    atomic_store(&locked, 0);
}
