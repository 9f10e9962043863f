#include "join.h"

#include <stdlib.h>

#include "alloc.h"

/* Device timestamps are converted to the host's clock: allow for the error of that. */
#define CLOCK_SLACK_NS 1000000u

void xfa_join_add(struct xfa_join *join, const struct xft_event *event)
{
    if (event->start_ns == 0 || event->end_ns <= event->start_ns)
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

void xfa_join_ready(struct xfa_join *join)
{
    for (size_t i = 1; i < join->count; i++) {
        if (by_correlation(&join->copies[i - 1], &join->copies[i]) > 0) {
            qsort(join->copies, join->count, sizeof *join->copies, by_correlation);
            return;
        }
    }
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

const struct xfa_device_copy *xfa_join_find(struct xfa_join *join, const struct xft_event *call,
                                            double *ns)
{
    if (call->correlation == 0 || join->count == 0)
        return NULL;
    const struct xfa_device_copy *first = NULL;
    uint64_t bytes = 0, end = 0;
    for (size_t i = first_of(join, call->correlation); i < join->count; i++) {
        struct xfa_device_copy *copy = &join->copies[i];
        if (copy->correlation != call->correlation || (first && bytes >= call->bytes))
            break;
        if (copy->used || copy->end_ns + CLOCK_SLACK_NS < call->start_ns)
            continue;
        first = first ? first : copy;
        copy->used = true;
        bytes = xfa_add(bytes, copy->bytes);
        end = copy->end_ns > end ? copy->end_ns : end;
    }
    if (first)
        *ns = (double)(end - first->start_ns);
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
