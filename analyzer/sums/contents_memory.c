#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/contents.h"
#include "common/search.h"

static bool ends_by(const void *stretch, const void *address)
{
    return ((const struct xfa_stretch *)stretch)->end <= *(const uint64_t *)address;
}

/* The first stretch that ends after the address. */
static size_t first_after(const struct xfa_memory *memory, uint64_t address)
{
    return xfc_partition(memory->stretches, memory->count, sizeof *memory->stretches, ends_by,
                         &address);
}

uint32_t xfa_memory_find(const struct xfa_memory *memory, uint64_t start, uint64_t end)
{
    size_t i = first_after(memory, start);
    if (i < memory->count && memory->stretches[i].start == start && memory->stretches[i].end == end)
        return memory->stretches[i].item;
    return UINT32_MAX;
}

/* Stretches that are written in part are forgotten as a whole. */
void xfa_memory_write(struct xfa_memory *memory, uint64_t start, uint64_t end, uint32_t item)
{
    if (start >= end)
        return;
    size_t at = first_after(memory, start), over = at;
    while (over < memory->count && memory->stretches[over].start < end)
        over++;
    size_t fresh = item != UINT32_MAX;
    if (memory->count + fresh > XFA_MAX_STRETCHES + (over - at))
        memory->count = at = over = 0;
    memory->stretches = xfa_room(memory->stretches, &memory->capacity, memory->count + 1,
                                 sizeof *memory->stretches);
    memmove(memory->stretches + at + fresh, memory->stretches + over,
            (memory->count - over) * sizeof *memory->stretches);
    memory->count = memory->count - (over - at) + fresh;
    if (fresh)
        memory->stretches[at] = (struct xfa_stretch){start, end, item};
}
