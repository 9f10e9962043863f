#include "preload/record/bus.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "preload/record/hot.h"

#define PAGE 4096u

struct xfs_bus_region {
    _Atomic uintptr_t start; /* 0: free */
    _Atomic size_t bytes;
    size_t unit;
};

#define REGIONS 160
struct xfs_bus_regions {
    struct xfs_bus_regions *next;
    atomic_uint used;
    struct xfs_bus_region region[REGIONS];
};

/* Threads may come here at once. */
static struct xfs_bus_region *take_region(struct xfs_life *life)
{
    for (;;) {
        struct xfs_bus_regions *first = atomic_load(&life->mapped);
        unsigned i = first ? atomic_fetch_add(&first->used, 1) : REGIONS;
        if (i < REGIONS)
            return &first->region[i];
        struct xfs_bus_regions *more =
            mmap(NULL, sizeof *more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            return NULL;
        more->next = first;
        if (!atomic_compare_exchange_strong(&life->mapped, &first, more))
            munmap(more, sizeof *more);
    }
}

struct xfs_bus_region *xfs_bus_cover(void *start, size_t bytes, size_t unit)
{
    struct xfs_life *life = atomic_load(&xfs_life);
    struct xfs_bus_region *region = life ? take_region(life) : NULL;
    if (region == NULL)
        return NULL;
    region->unit = unit;
    atomic_store(&region->bytes, bytes);
    atomic_store(&region->start, (uintptr_t)start);
    return region;
}

void xfs_bus_leave(struct xfs_bus_region *region)
{
    if (region)
        atomic_store(&region->start, 0);
}

static bool replace(const struct xfs_bus_region *region, uintptr_t start, uintptr_t at)
{
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = start + ((at - start) / region->unit + 1) * region->unit;
    uintptr_t last = (start + region->bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    void *memory = mmap((void *)page, (end < last ? end : last) - page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return memory != MAP_FAILED;
}

/* The life is wiped in a forked child, where what lies at these addresses is the child's. */
bool xfs_bus_mend(const void *address)
{
    struct xfs_life *life = atomic_load(&xfs_life);
    uintptr_t at = (uintptr_t)address;
    const struct xfs_bus_regions *some = life ? atomic_load(&life->mapped) : NULL;
    for (; some; some = some->next) {
        unsigned used = atomic_load(&some->used);
        for (unsigned i = 0; i < used && i < REGIONS; i++) {
            uintptr_t start = atomic_load(&some->region[i].start);
            if (start && at - start < atomic_load(&some->region[i].bytes))
                return replace(&some->region[i], start, at);
        }
    }
    return false;
}
