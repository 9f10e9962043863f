#include "analyzer/model/join.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* Device timestamps are converted to the host's clock: allow for the error of that. */
#define CLOCK_SLACK_NS 1000000u
#define MOST_LOOKED_AT 1024

void xfa_join_add(struct xfa_join *join, const struct xft_event *event)
{
    if (event->bytes == 0 || event->start_ns == 0 || event->end_ns <= event->start_ns)
        return;
    join->copies = xfa_room(join->copies, &join->capacity, join->count + 1, sizeof *join->copies);
    join->copies[join->count++] = (struct xfa_device_copy){
        .correlation = event->correlation,
        .direction = event->direction,
        .src_mem = event->src_mem,
        .dst_mem = event->dst_mem,
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .bytes = event->bytes,
    };
}

static int by_correlation(const void *a, const void *b)
{
    const struct xfa_device_copy *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation > y->correlation ? 1 : -1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool same(const struct xfa_device_copy *x, const struct xfa_device_copy *y)
{
    return by_correlation(x, y) == 0 && x->end_ns == y->end_ns && x->bytes == y->bytes;
}

void xfa_join_ready(struct xfa_join *join)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < join->count; i++)
        sorted = by_correlation(&join->copies[i - 1], &join->copies[i]) <= 0;
    if (!sorted)
        qsort(join->copies, join->count, sizeof *join->copies, by_correlation);
    size_t kept = join->count > 0;
    for (size_t i = 1; i < join->count; i++)
        if (!same(&join->copies[kept - 1], &join->copies[i]))
            join->copies[kept++] = join->copies[i];
    join->count = kept;
}

static size_t first_of(const struct xfa_join *join, uint32_t correlation)
{
    size_t low = 0, high = join->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (join->copies[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Not taken yet, and not from an earlier use of the id. */
static bool candidate(const struct xfa_device_copy *copy, const struct xft_event *call)
{
    return !copy->used && copy->end_ns + CLOCK_SLACK_NS >= call->start_ns;
}

/* The copies of one id that may still be taken: [first, end), bounded however many there are. */
static size_t group(struct xfa_join *join, uint32_t correlation, size_t *end)
{
    size_t start = first_of(join, correlation), i = start;
    if (start < join->count && join->copies[start].correlation == correlation)
        i += join->copies[start].skip;
    while (i < join->count && join->copies[i].correlation == correlation && join->copies[i].used)
        join->copies[start].skip = (uint32_t)(++i - start);
    *end = i;
    while (*end < join->count && *end - i < MOST_LOOKED_AT &&
           join->copies[*end].correlation == correlation)
        ++*end;
    return i;
}

/* One half of a copy between devices without peer access: the driver stages it in host memory. */
static bool is_half(const struct xfa_device_copy *copy)
{
    return copy->src_mem == XFT_MEM_DEVICE && copy->dst_mem == XFT_MEM_DEVICE &&
           (copy->direction == XFT_DIR_D2H || copy->direction == XFT_DIR_H2D);
}

/* What the copies of a call add up to. */
static uint64_t wanted_bytes(const struct xfa_join *join, size_t start, size_t end,
                             const struct xft_event *call)
{
    bool halves = false;
    for (size_t i = start; call->direction == XFT_DIR_P2P && !halves && i < end; i++)
        halves = candidate(&join->copies[i], call) && is_half(&join->copies[i]);
    return halves ? xfa_add(call->bytes, call->bytes) : call->bytes;
}

const struct xfa_device_copy *xfa_join_find(struct xfa_join *join, const struct xft_event *call,
                                            double *ns)
{
    if (call->correlation == 0 || join->count == 0)
        return NULL;
    size_t end, start = group(join, call->correlation, &end);
    uint64_t wanted = wanted_bytes(join, start, end, call);
    for (size_t i = start; i < end; i++) {
        struct xfa_device_copy *copy = &join->copies[i];
        if (copy->bytes != wanted || !candidate(copy, call))
            continue;
        copy->used = true;
        *ns = (double)(copy->end_ns - copy->start_ns);
        return copy;
    }
    const struct xfa_device_copy *first = NULL;
    uint64_t bytes = 0, last_ns = 0;
    for (size_t i = start; i < end && (!first || bytes < wanted); i++) {
        struct xfa_device_copy *copy = &join->copies[i];
        if (!candidate(copy, call))
            continue;
        first = first ? first : copy;
        copy->used = true;
        bytes = xfa_add(bytes, copy->bytes);
        last_ns = copy->end_ns > last_ns ? copy->end_ns : last_ns;
    }
    if (first)
        *ns = (double)(last_ns - first->start_ns);
    return first;
}

void xfa_join_unused(const struct xfa_join *join, uint64_t *copies, uint64_t *bytes)
{
    for (size_t i = 0; i < join->count; i++) {
        if (join->copies[i].used)
            continue;
        ++*copies;
        *bytes = xfa_add(*bytes, join->copies[i].bytes);
    }
}

void xfa_join_free(struct xfa_join *join)
{
    free(join->copies);
    *join = (struct xfa_join){0};
}
