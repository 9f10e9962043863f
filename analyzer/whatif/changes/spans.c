#include "analyzer/whatif/changes/spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/search.h"

#define ALLOCATIONS 65536 /* remembered */

void xfw_spans_free(struct xfw_spans *spans)
{
    free(spans->items);
    free(spans->order);
    free(spans->ends);
    free(spans->allocations);
    *spans = (struct xfw_spans){0};
}

/* ---- allocations ----------------------------------------------------------------------------- */

static bool allocation_ends_by(const void *allocation, const void *address)
{
    return ((const struct xfw_allocation *)allocation)->end <= *(const uint64_t *)address;
}

/* The place of the first allocation that ends behind the address. */
static size_t allocation_at(const struct xfw_spans *spans, uint64_t address)
{
    return xfc_partition(spans->allocations, spans->allocation_count, sizeof *spans->allocations,
                         allocation_ends_by, &address);
}

/* The end of the allocation that has the address; the next byte, where none is known. */
static uint64_t allocation_end(const struct xfw_spans *spans, uint64_t address)
{
    size_t i = allocation_at(spans, address);
    bool in = i < spans->allocation_count && spans->allocations[i].first <= address;
    return in ? spans->allocations[i].end : xfa_add(address, 1);
}

uint64_t xfw_spans_allocation(const struct xfw_spans *spans, uint64_t address)
{
    size_t i = allocation_at(spans, address);
    bool there = i < spans->allocation_count && spans->allocations[i].first == address;
    return there ? spans->allocations[i].end - address : 0;
}

/* The i-th by address. */
static struct xfw_span *nth(const struct xfw_spans *spans, size_t i)
{
    return &spans->items[spans->order[i]];
}

/* The first that ends behind the address. */
static size_t span_at(const struct xfw_spans *spans, uint64_t address)
{
    const uint64_t *ends = spans->ends;
    size_t at = 0;
    for (size_t left = spans->count; left > 0;) { /* of those from `at` on */
        const size_t half = left / 2;
        const bool behind = ends[at + half] <= address;
        at += behind ? half + 1 : 0;
        left = behind ? left - half - 1 : half;
    }
    return at;
}

void xfw_spans_allocated(struct xfw_spans *spans, uint64_t address, uint64_t bytes)
{
    uint64_t end = xfa_add(address, bytes);
    size_t at = allocation_at(spans, address), behind = at;
    if (address == 0 || bytes == 0)
        return;
    while (behind < spans->allocation_count && spans->allocations[behind].first < end)
        behind++; /* that was freed unseen */
    if (behind == at && spans->allocation_count == ALLOCATIONS)
        return;
    spans->allocation_changes++;
    spans->allocations = xfa_room(spans->allocations, &spans->allocation_capacity,
                                  spans->allocation_count + 1, sizeof *spans->allocations);
    memmove(spans->allocations + at + 1, spans->allocations + behind,
            (spans->allocation_count - behind) * sizeof *spans->allocations);
    spans->allocation_count = spans->allocation_count + 1 - (behind - at);
    spans->allocations[at] = (struct xfw_allocation){address, end};
    for (size_t i = span_at(spans, address); i < spans->count && nth(spans, i)->first < end; i++) {
        nth(spans, i)->owner = 0; /* new memory: what kernels did with the old one is over */
        nth(spans, i)->computed = 0;
        nth(spans, i)->given = true;
    }
}

void xfw_spans_freed(struct xfw_spans *spans, uint64_t address)
{
    size_t i = allocation_at(spans, address);
    if (i == spans->allocation_count || spans->allocations[i].first != address)
        return;
    spans->allocation_changes++;
    spans->allocation_count--;
    memmove(spans->allocations + i, spans->allocations + i + 1,
            (spans->allocation_count - i) * sizeof *spans->allocations);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void forget(struct xfw_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct xfw_span *span = &spans->items[i];
        spans->floor =
            xfw_max(spans->floor, xfw_max(span->written, xfw_max(span->read, span->computed)));
    }
    spans->floor = xfw_max(spans->floor, spans->unknown_end);
    spans->count = 0;
    spans->changes++;
}

static void insert(struct xfw_spans *spans, size_t at, struct xfw_span new)
{
    if (!spans->items) {
        spans->items = xfa_alloc(XFW_SPANS * sizeof *spans->items);
        spans->order = xfa_alloc(XFW_SPANS * sizeof *spans->order);
        spans->ends = xfa_alloc(XFW_SPANS * sizeof *spans->ends);
    }
    memmove(spans->order + at + 1, spans->order + at, (spans->count - at) * sizeof *spans->order);
    memmove(spans->ends + at + 1, spans->ends + at, (spans->count - at) * sizeof *spans->ends);
    spans->order[at] = (uint16_t)spans->count;
    spans->ends[at] = new.end;
    spans->items[spans->count++] = new;
    spans->changes++;
}

static void cut(struct xfw_spans *spans, size_t at, uint64_t address)
{
    if (at == spans->count || nth(spans, at)->first >= address)
        return;
    struct xfw_span behind = *nth(spans, at);
    behind.first = address;
    nth(spans, at)->end = spans->ends[at] = address;
    insert(spans, at + 1, behind);
}

/* Where memory was found last: programs copy from and to the same again and again. */
static struct xfw_spans_place *recent(struct xfw_spans *spans, uint64_t address)
{
    return &spans->places[((address * 0x9e3779b97f4a7c15u) >> 32) % XFW_SPANS_RECENT];
}

struct run {               /* adjacent spans */
    struct xfw_span *only; /* NULL: there are several */
    size_t first, count;
};

static struct xfw_span *of_run(const struct xfw_spans *spans, const struct run *run, size_t i)
{
    return run->only ? run->only : nth(spans, run->first + i);
}

/* Cuts spans and adds new ones, so that some together are exactly this memory; the first of them.
 */
static size_t fit(struct xfw_spans *spans, uint64_t address, uint64_t end, size_t *count)
{
    uint64_t at = address;
    size_t first = span_at(spans, address), i;
    if (first < spans->count && nth(spans, first)->first < address)
        cut(spans, first++, address);
    for (i = first; at < end; i++) {
        if (i == spans->count || nth(spans, i)->first > at) {
            uint64_t next =
                i < spans->count && nth(spans, i)->first < end ? nth(spans, i)->first : end;
            insert(spans, i,
                   (struct xfw_span){.first = at, .end = next, .unknown = spans->unknown});
        }
        if (nth(spans, i)->end > end)
            cut(spans, i, end);
        at = nth(spans, i)->end;
    }
    *count = i - first;
    return first;
}

/* The spans that together are exactly this memory. A single one stays where it lies; of several
 * the places are good until the next span is inserted. */
static struct run cover(struct xfw_spans *spans, uint64_t address, uint64_t bytes)
{
    uint64_t end = xfa_add(address, bytes);
    if (spans->count + 4 > XFW_SPANS)
        forget(spans);
    struct xfw_spans_place *place = recent(spans, address);
    struct xfw_span *known = place->item < spans->count ? &spans->items[place->item] : NULL;
    if (known && known->first == address && known->end == end)
        return (struct run){.only = known, .count = 1};
    if (place->changes == spans->changes && place->end == end && known && known->first == address)
        return (struct run){.first = place->first, .count = place->count};
    size_t count, first = fit(spans, address, end, &count);
    if (count > 0)
        *place = (struct xfw_spans_place){spans->changes, end, (uint16_t)first, (uint16_t)count,
                                          spans->order[first]};
    return (struct run){.first = first, .count = count};
}

double xfw_spans_written(struct xfw_spans *spans, uint64_t address, uint64_t bytes)
{
    const struct run run = cover(spans, address, bytes);
    double last = spans->floor;
    for (size_t i = 0; i < run.count; i++)
        last = xfw_max(last, of_run(spans, &run, i)->written);
    return last;
}

double xfw_spans_read(struct xfw_spans *spans, uint64_t address, uint64_t bytes)
{
    const struct run run = cover(spans, address, bytes);
    double last = spans->floor;
    for (size_t i = 0; i < run.count; i++)
        last = xfw_max(last, of_run(spans, &run, i)->read);
    return last;
}

double xfw_spans_message(struct xfw_spans *spans, const struct xfw_op *op)
{
    double last = 0;
    if (!op->begins || op->bytes == 0)
        return 0;
    if (op->src)
        last = xfw_max(last, xfw_spans_written(spans, op->src, op->bytes));
    if (op->dst)
        last = xfw_max(last, xfw_max(xfw_spans_written(spans, op->dst, op->bytes),
                                     xfw_spans_read(spans, op->dst, op->bytes)));
    return last;
}

/* A kernel was given the span since it was written. */
static bool was_given(const struct xfw_spans *spans, const struct xfw_span *span)
{
    return span->given || span->unknown != spans->unknown;
}

double xfw_spans_computed(struct xfw_spans *spans, uint64_t address, uint64_t bytes,
                          double otherwise)
{
    const struct run run = cover(spans, address, bytes);
    double last = spans->floor;
    for (size_t i = 0; i < run.count; i++) {
        const struct xfw_span *span = of_run(spans, &run, i);
        last = xfw_max(last, span->computed > 0 ? span->computed : otherwise);
        if (!was_given(spans, span))
            last = xfw_max(last, otherwise);
        if (span->unknown != spans->unknown)
            last = xfw_max(last, spans->unknown_end);
    }
    return last;
}

static void note_copy(struct xfw_spans *spans, uint64_t src, uint64_t dst, uint64_t bytes,
                      bool to_host, double end)
{
    double *last = to_host ? &spans->fetched_end : &spans->copied_end;
    struct run run = cover(spans, src, bytes);
    for (size_t i = 0; i < run.count; i++)
        of_run(spans, &run, i)->read = end;
    run = cover(spans, dst, bytes);
    for (size_t i = 0; i < run.count; i++) {
        of_run(spans, &run, i)->written = end;
        of_run(spans, &run, i)->given = false;
        of_run(spans, &run, i)->unknown = spans->unknown;
    }
    *last = xfw_max(*last, end);
}

static void note_use(struct xfw_spans *spans, uint64_t address, uint64_t bytes, double end)
{
    const struct run run = cover(spans, address, bytes);
    for (size_t i = 0; i < run.count; i++) {
        of_run(spans, &run, i)->computed = end;
        of_run(spans, &run, i)->given = true;
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool uses(const struct xfw_spans *spans, const struct xfw_span *span, uint64_t pointer)
{
    bool in = span->first <= pointer && pointer < span->end;
    return in || span->owner == pointer || (span->written > 0 && !was_given(spans, span));
}

/* Where the spans are that a kernel may use by the pointer. */
static const struct xfw_spans_behind *behind(struct xfw_spans *spans, uint64_t pointer)
{
    const uint64_t place = pointer * 0x9e3779b97f4a7c15u >> 32;
    struct xfw_spans_behind *behind = &spans->behind[place % XFW_SPANS_POINTERS];
    if (behind->pointer != pointer || behind->changes != spans->changes ||
        behind->allocation_changes != spans->allocation_changes)
        *behind = (struct xfw_spans_behind){
            pointer,
            spans->changes,
            spans->allocation_changes,
            allocation_end(spans, pointer),
            span_at(spans, pointer),
        };
    return behind;
}

static struct xfw_copied copied_of(struct xfw_spans *spans, uint64_t pointer)
{
    struct xfw_copied copied = {spans->floor, spans->floor};
    const struct xfw_spans_behind *of = behind(spans, pointer);
    for (size_t i = of->at; i < spans->count && nth(spans, i)->first < of->end; i++) {
        const struct xfw_span *span = nth(spans, i);
        if (!uses(spans, span, pointer))
            continue;
        copied.written = xfw_max(copied.written, span->written);
        copied.read = xfw_max(copied.read, span->read);
    }
    return copied;
}

static void note_kernel(struct xfw_spans *spans, uint64_t pointer, double ns)
{
    const struct xfw_spans_behind *of = behind(spans, pointer);
    for (size_t i = of->at; i < spans->count && nth(spans, i)->first < of->end; i++) {
        struct xfw_span *span = nth(spans, i);
        if (!uses(spans, span, pointer))
            continue;
        bool in = span->first <= pointer && pointer < span->end;
        span->owner = in || was_given(spans, span) ? span->owner : pointer;
        span->computed = xfw_max(span->computed, ns);
        span->given = true;
    }
}

static struct xfw_copied all_copied(const struct xfw_spans *spans)
{
    return (struct xfw_copied){xfw_max(spans->floor, spans->copied_end),
                               xfw_max(spans->floor, spans->fetched_end)};
}

static void note_unknown(struct xfw_spans *spans, double end)
{
    spans->unknown++;
    spans->unknown_end = xfw_max(spans->unknown_end, end);
}

/* ---- what ops use ---------------------------------------------------------------------------- */

/* NULL: not known. A kernel that is given no pointer may use variables of its module. */
static const struct xfa_arguments *arguments_of(const struct xfa_process *process,
                                                const struct xfw_op *op)
{
    const struct xfa_arguments *arguments =
        op->what == XFW_KERNEL && op->arguments && process && process->trace
            ? xfa_trace_arguments(process->trace, op->arguments)
            : NULL;
    bool known = arguments && arguments->count > 0 && arguments->count < XFT_ARGUMENTS_MOST;
    return known ? arguments : NULL;
}

struct xfw_used xfw_used_by(const struct xfa_process *process, const struct xfw_op *op)
{
    return (struct xfw_used){op->what, op->engine, op->src,
                             op->dst,  op->bytes,  arguments_of(process, op)};
}

/* Of memory that is known: not of one that a change made up. */
static bool is_prefetch(const struct xfw_used *used)
{
    return used->what == XFW_PREFETCH && used->src != 0;
}

struct xfw_copied xfw_spans_needs(struct xfw_spans *spans, const struct xfw_used *used)
{
    struct xfw_copied needs = {0, 0};
    if (used->what == XFW_COPY || used->what == XFW_SET) {
        double of_source =
            used->what == XFW_COPY ? xfw_spans_written(spans, used->src, used->bytes) : 0;
        needs.written = xfw_max(of_source, xfw_spans_written(spans, used->dst, used->bytes));
        needs.read = xfw_spans_read(spans, used->dst, used->bytes);
        return needs;
    }
    if (is_prefetch(used)) {
        needs.written = xfw_spans_written(spans, used->src, used->bytes);
        needs.read = xfw_spans_read(spans, used->src, used->bytes);
        return needs;
    }
    const struct xfa_arguments *arguments = used->arguments;
    if (!arguments)
        return all_copied(spans);
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct xfw_copied copied = copied_of(spans, xfa_arguments_pointer(arguments, i));
        needs.written = xfw_max(needs.written, copied.written);
        needs.read = xfw_max(needs.read, copied.read);
    }
    return needs;
}

void xfw_spans_note(struct xfw_spans *spans, const struct xfw_used *used, double end)
{
    const struct xfa_arguments *arguments = used->arguments;
    if (xfw_is_copy_with_host(used->what, used->engine)) {
        note_copy(spans, used->src, used->dst, used->bytes, used->engine == XFW_TO_HOST, end);
    } else if (used->what == XFW_COPY || used->what == XFW_SET) {
        if (used->what == XFW_COPY)
            note_use(spans, used->src, used->bytes, end);
        note_use(spans, used->dst, used->bytes, end);
    } else if (is_prefetch(used)) {
        note_use(spans, used->src, used->bytes, end);
    } else if (!arguments) {
        note_unknown(spans, end);
    } else {
        for (uint32_t i = 0; i < arguments->count; i++)
            note_kernel(spans, xfa_arguments_pointer(arguments, i), end);
    }
}
