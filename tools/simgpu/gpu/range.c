/*
 * Address space and the ranges in it.
 */
#include "tools/simgpu/gpu/range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/grow.h"
#include "common/search.h"

enum { PAGE = 4096, ALIGNED = 2 << 20 };

struct span {
    uint8_t *start;
    size_t bytes;
};

/* Reserved addresses; the free ones in ascending order. */
struct sim_region {
    uint8_t *start;
    size_t bytes;
    struct span *gaps;
    size_t count, room;
    struct sim_region *next;
};

static struct sim_region *regions;

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void *try_to_reserve(size_t bytes)
{
    return mmap(NULL, pages(bytes) + ALIGNED, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Where address space is limited, reserves less: at most a quarter of what there is, since the
 * program's threads and memory need some, too. */
static void *reserve(size_t *bytes)
{
    size_t all = pages(*bytes);
    void *start = try_to_reserve(all);

    for (*bytes = all; start == MAP_FAILED && *bytes >= (4u << 20); *bytes /= 2)
        start = try_to_reserve(*bytes / 2);
    if (start == MAP_FAILED || *bytes == all)
        return start;
    munmap(start, pages(*bytes) + ALIGNED);
    *bytes = pages(*bytes / 4);
    return try_to_reserve(*bytes);
}

struct sim_region *sim_region_new(size_t bytes)
{
    struct sim_region *r = calloc(1, sizeof(*r));
    struct span *gaps = calloc(16, sizeof(*gaps));
    void *start = r && gaps ? reserve(&bytes) : MAP_FAILED;

    if (start == MAP_FAILED) {
        free(r);
        free(gaps);
        return NULL;
    }
    start = (void *)(((uintptr_t)start + ALIGNED - 1) & ~(uintptr_t)(ALIGNED - 1));
    gaps[0] = (struct span){start, pages(bytes)};
    *r = (struct sim_region){start, pages(bytes), gaps, 1, 16, regions};
    regions = r;
    return r;
}

void *sim_region_take(struct sim_region *region, size_t bytes)
{
    size_t want = pages(bytes);

    for (size_t i = 0; region && i < region->count; i++) {
        struct span *gap = &region->gaps[i];
        uint8_t *start = gap->start;

        if (gap->bytes < want || want < bytes)
            continue;
        if (mprotect(start, want, PROT_READ | PROT_WRITE))
            return NULL;
        gap->start += want;
        gap->bytes -= want;
        if (!gap->bytes)
            memmove(gap, gap + 1, (--region->count - i) * sizeof(*gap));
        return start;
    }
    return NULL;
}

void sim_region_give(struct sim_region *region, void *start, size_t bytes)
{
    size_t want = pages(bytes), i = 0;

    madvise(start, want, MADV_DONTNEED);
    mprotect(start, want, PROT_NONE);
    while (i < region->count && region->gaps[i].start < (uint8_t *)start)
        i++;
    if (i && region->gaps[i - 1].start + region->gaps[i - 1].bytes == start) {
        region->gaps[--i].bytes += want;
    } else {
        if (!xfc_grow(&region->gaps, &region->room, region->count, sizeof(struct span)))
            return; /* these addresses are not used again */
        memmove(&region->gaps[i + 1], &region->gaps[i],
                (region->count++ - i) * sizeof(region->gaps[0]));
        region->gaps[i] = (struct span){start, want};
    }
    if (i + 1 < region->count &&
        region->gaps[i].start + region->gaps[i].bytes == region->gaps[i + 1].start) {
        region->gaps[i].bytes += region->gaps[i + 1].bytes;
        region->count--;
        memmove(&region->gaps[i + 1], &region->gaps[i + 2],
                (region->count - i - 1) * sizeof(region->gaps[0]));
    }
}

bool sim_region_owns(const void *address)
{
    for (const struct sim_region *r = regions; r; r = r->next)
        if ((const uint8_t *)address >= r->start && (const uint8_t *)address < r->start + r->bytes)
            return true;
    return false;
}

/* ---- ranges: sorted by address, none overlap ---------------------------------------------- */

static struct sim_range **ranges;
static size_t range_count, range_room;
static uint64_t range_ids;

static bool starts_by(const void *range, const void *address)
{
    return (*(struct sim_range *const *)range)->start <= (const uint8_t *)address;
}

/* Index of the first range that starts above the address. */
static size_t above(const void *address)
{
    return xfc_partition(ranges, range_count, sizeof *ranges, starts_by, address);
}

struct sim_range *sim_range_at(const void *address)
{
    size_t i = above(address);
    struct sim_range *r = i ? ranges[i - 1] : NULL;

    return r && (const uint8_t *)address < r->start + r->bytes ? r : NULL;
}

struct sim_range *sim_range_add(const struct sim_range *range)
{
    size_t i = above(range->start);
    struct sim_range *r;

    if (!xfc_grow(&ranges, &range_room, range_count, sizeof(struct sim_range *)) ||
        (i && sim_range_at(range->start)) ||
        (i < range_count && ranges[i]->start < range->start + range->bytes))
        return NULL;
    r = malloc(sizeof(*r));
    if (!r)
        return NULL;
    *r = *range;
    r->id = ++range_ids;
    memmove(&ranges[i + 1], &ranges[i], (range_count++ - i) * sizeof(*ranges));
    ranges[i] = r;
    return r;
}

void sim_range_remove(struct sim_range *range)
{
    size_t i = above(range->start) - 1;

    memmove(&ranges[i], &ranges[i + 1], (--range_count - i) * sizeof(*ranges));
    free(range->where);
    free(range->copies);
    free(range);
}

size_t sim_range_count(void)
{
    return range_count;
}

struct sim_range *sim_range_nth(size_t index)
{
    return ranges[index];
}

xcu_result sim_range_free(struct sim_range *range)
{
    if (range->memory == XFT_MEM_DEVICE)
        sim_devices[range->device].used -= range->bytes;
    if (range->pool)
        range->pool->used_now -= range->bytes;
    if (range->region)
        sim_region_give(range->region, range->start, range->bytes);
    sim_range_remove(range);
    return XCU_SUCCESS;
}
