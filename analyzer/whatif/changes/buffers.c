#include "analyzer/whatif/changes/buffers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/search.h"

static struct xfw_process_buffers *process_of(struct xfw_buffers *buffers, uint32_t process)
{
    buffers->processes = xfa_grown(buffers->processes, &buffers->capacity, &buffers->count, process,
                                   sizeof *buffers->processes);
    return &buffers->processes[process];
}

static bool ends_before(const void *buffer, const void *address)
{
    return ((const struct xfw_buffer *)buffer)->end < *(const uint64_t *)address;
}

/* The place of the first one that ends at the address or behind it. */
static size_t reaching(const struct xfw_process_buffers *of, uint64_t address)
{
    return xfc_partition(of->items, of->count, sizeof *of->items, ends_before, &address);
}

/* Is the one another thread's, and only touches the other? */
static bool is_apart(const struct xfw_buffer *one, const struct xfw_buffer *other)
{
    return one->thread != other->thread && (one->end == other->first || other->end == one->first);
}

uint64_t xfw_buffers_add(struct xfw_buffers *buffers, uint32_t process, uint64_t thread,
                         uint64_t first, uint64_t bytes)
{
    struct xfw_process_buffers *of = process_of(buffers, process);
    uint64_t end = first + bytes < first ? UINT64_MAX : first + bytes, known = 0;
    const struct xfw_buffer used = {first, end, thread};
    struct xfw_buffer whole = used;
    size_t at = reaching(of, first);
    while (at < of->count && of->items[at].end == first && is_apart(&of->items[at], &used))
        at++;
    size_t last = at;
    for (; last < of->count && of->items[last].first <= end; last++) {
        const struct xfw_buffer *old = &of->items[last];
        if (is_apart(old, &used))
            break;
        uint64_t from = old->first > first ? old->first : first;
        uint64_t to = old->end < end ? old->end : end;
        known += to > from ? to - from : 0;
        whole.first = old->first < whole.first ? old->first : whole.first;
        whole.end = old->end > whole.end ? old->end : whole.end;
        whole.thread = old->thread;
    }
    if (last == at) { /* new */
        if (of->count >= XFW_MOST_BUFFERS)
            return bytes;
        of->items = xfa_room(of->items, &of->capacity, of->count + 1, sizeof *of->items);
        memmove(of->items + at + 1, of->items + at, (of->count - at) * sizeof *of->items);
        of->count++;
    } else {
        memmove(of->items + at + 1, of->items + last, (of->count - last) * sizeof *of->items);
        of->count -= last - at - 1;
    }
    of->items[at] = whole;
    return end - first - known;
}

size_t xfw_buffers_find(const struct xfw_buffers *buffers, uint32_t process, uint64_t address)
{
    if (process >= buffers->count)
        return SIZE_MAX;
    const struct xfw_process_buffers *of = &buffers->processes[process];
    size_t at = reaching(of, address);
    if (at < of->count && of->items[at].end == address) /* behind it */
        at++;
    return at < of->count && of->items[at].first <= address ? at : SIZE_MAX;
}

void xfw_buffers_give(const struct xfw_buffers *buffers, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, buffers->count);
    for (size_t i = 0; i < buffers->count; i++) {
        const struct xfw_process_buffers *of = &buffers->processes[i];
        xfa_parcel_number(parcel, of->count);
        xfa_parcel_put(parcel, of->items, of->count * sizeof *of->items);
    }
}

void xfw_buffers_take(struct xfw_buffers *buffers, struct xfa_unpacking *from, size_t processes)
{
    uint32_t count = xfa_unpack_below(from, processes + 1);
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        size_t items = xfa_unpack_count(from, sizeof(struct xfw_buffer));
        for (size_t k = 0; k < items && !from->bad; k++) {
            struct xfw_buffer item;
            xfa_unpack_bytes(from, &item, sizeof item);
            xfw_buffers_add(buffers, i, item.thread, item.first, item.end - item.first);
        }
    }
}

void xfw_buffers_free(struct xfw_buffers *buffers)
{
    for (size_t i = 0; i < buffers->count; i++)
        free(buffers->processes[i].items);
    free(buffers->processes);
    *buffers = (struct xfw_buffers){0};
}
