#include "analyzer/read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define LEAST_ROWS 16 /* kept of a chunk, however many there are */

struct row {
    struct xft_event event;
    uint64_t seq;
};

/* A chunk between its first event and its last. */
struct opened {
    const struct xfa_chunk *chunk;
    struct row *rows; /* by time and sequence */
    size_t next, count;
    bool more;  /* the chunk has rows behind these */
    bool again; /* it was read before: what was wrong has been counted */
};

struct xfa_merge {
    struct xfa_index *index;
    size_t next;         /* chunk to open */
    struct opened *heap; /* the first has the next event */
    size_t count, capacity;
    size_t most, kept;        /* rows of all that are open */
    bool taken;               /* the first one's next event has been handed out */
    struct xft_event *events; /* a chunk as it lies in the file */
    struct key *keys;
    size_t events_room, keys_room;
};

/* ---- order ------------------------------------------------------------------------------ */

struct key {
    uint64_t ns, seq;
};

static bool key_before(const struct key *a, const struct key *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->seq < b->seq;
}

static int by_key(const void *a, const void *b)
{
    return key_before(a, b) ? -1 : key_before(b, a);
}

static const struct row *next_row(const struct opened *opened)
{
    /* The analyzer loses sight of it when the last of the heap takes the place of one that was let
     * go. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    return &opened->rows[opened->next];
}

static bool is_before(const struct opened *a, const struct opened *b)
{
    const struct row *x = next_row(a), *y = next_row(b);
    if (x->event.start_ns != y->event.start_ns)
        return x->event.start_ns < y->event.start_ns;
    if (a->chunk->lane != b->chunk->lane)
        return a->chunk->lane < b->chunk->lane;
    return x->seq < y->seq;
}

static void swap(struct opened *a, struct opened *b)
{
    struct opened was = *a;
    *a = *b;
    *b = was;
}

static void sink(struct xfa_merge *merge)
{
    struct opened *heap = merge->heap;
    for (size_t at = 0, child; (child = 2 * at + 1) < merge->count; at = child) {
        if (child + 1 < merge->count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &heap[at]))
            return;
        swap(&heap[child], &heap[at]);
    }
}

static void rise(struct xfa_merge *merge, size_t at)
{
    struct opened *heap = merge->heap;
    for (size_t above; at > 0 && is_before(&heap[at], &heap[above = (at - 1) / 2]); at = above)
        swap(&heap[at], &heap[above]);
}

/* ---- chunks ----------------------------------------------------------------------------- */

/* Counted once: also of a chunk that is read part by part. */
static uint32_t read_chunk(struct xfa_merge *merge, struct opened *opened)
{
    const struct xfa_chunk *chunk = opened->chunk;
    struct xfa_loss *loss = &merge->index->trace->loss, before = *loss;
    merge->events =
        xfa_room(merge->events, &merge->events_room, chunk->rows, sizeof *merge->events);
    uint32_t rows = xfa_index_read(merge->index, chunk, merge->events);
    bool wrong = false;
    for (uint32_t i = 0; i < rows; i++)
        wrong |= merge->events[i].start_ns < chunk->first_ns ||
                 merge->events[i].start_ns > chunk->last_ns;
    if (opened->again)
        *loss = before;
    else if (wrong)
        loss->bad_entries++; /* of the INDEX */
    opened->again = true;
    return rows;
}

/* The keys of the rows behind `last`, sorted. */
static size_t sort_keys(struct xfa_merge *merge, uint32_t rows, uint64_t first_seq,
                        const struct key *last)
{
    size_t count = 0;
    bool sorted = true;
    merge->keys = xfa_room(merge->keys, &merge->keys_room, rows, sizeof *merge->keys);
    for (uint32_t i = 0; i < rows; i++) {
        struct key key = {merge->events[i].start_ns, first_seq + i};
        if (last && !key_before(last, &key))
            continue;
        sorted = sorted && (count == 0 || key_before(&merge->keys[count - 1], &key));
        merge->keys[count++] = key;
    }
    if (!sorted)
        qsort(merge->keys, count, sizeof *merge->keys, by_key);
    return count;
}

static size_t rows_to_keep(const struct xfa_merge *merge, size_t wanted)
{
    size_t share = merge->most / (merge->count + 1);
    size_t left = merge->most > merge->kept ? merge->most - merge->kept : 0;
    size_t most = left < share ? left : share;
    most = most > LEAST_ROWS ? most : LEAST_ROWS;
    return wanted < most ? wanted : most;
}

/* Fills it with what comes behind `last` (NULL: the first rows); false when there is nothing. */
static bool fill(struct xfa_merge *merge, struct opened *opened, const struct key *last)
{
    uint32_t rows = read_chunk(merge, opened);
    uint64_t first_seq = opened->chunk->first_seq;
    size_t count = sort_keys(merge, rows, first_seq, last);
    opened->count = rows_to_keep(merge, count);
    opened->more = opened->count < count;
    opened->next = 0;
    if (opened->count == 0)
        return false;
    opened->rows = xfa_alloc(opened->count * sizeof *opened->rows);
    for (size_t i = 0; i < opened->count; i++)
        opened->rows[i] =
            (struct row){merge->events[merge->keys[i].seq - first_seq], merge->keys[i].seq};
    merge->kept += opened->count;
    return true;
}

static void let_go(struct xfa_merge *merge, struct opened *opened)
{
    merge->kept -= opened->count;
    free(opened->rows);
    opened->rows = NULL;
}

static void open_chunk(struct xfa_merge *merge, const struct xfa_chunk *chunk)
{
    struct opened opened = {.chunk = chunk};
    if (!fill(merge, &opened, NULL))
        return;
    merge->heap = xfa_room(merge->heap, &merge->capacity, merge->count + 1, sizeof *merge->heap);
    merge->heap[merge->count++] = opened;
    rise(merge, merge->count - 1);
}

/* Behind the event that was handed out last. */
static void advance(struct xfa_merge *merge)
{
    struct opened *first = merge->heap;
    const struct row *row = next_row(first);
    struct key last = {row->event.start_ns, row->seq};
    if (++first->next == first->count) {
        let_go(merge, first);
        if (!first->more || !fill(merge, first, &last)) {
            if (--merge->count == 0)
                return;
            *first = merge->heap[merge->count];
        }
    }
    sink(merge);
}

/* ---- the door --------------------------------------------------------------------------- */

struct xfa_merge *xfa_merge_within(struct xfa_trace *trace, size_t rows)
{
    struct xfa_merge *merge = xfa_alloc(sizeof *merge);
    merge->index = xfa_index_new(trace);
    merge->most = rows;
    return merge;
}

struct xfa_merge *xfa_merge_new(struct xfa_trace *trace)
{
    return xfa_merge_within(trace, XFA_MERGE_ROWS);
}

bool xfa_merge_next(struct xfa_merge *merge, struct xfa_merged *merged)
{
    const struct xfa_index *index = merge->index;
    if (merge->taken)
        advance(merge);
    while (merge->next < index->count &&
           (merge->count == 0 ||
            index->chunks[merge->next].first_ns <= next_row(merge->heap)->event.start_ns))
        open_chunk(merge, &index->chunks[merge->next++]);
    merge->taken = merge->count > 0;
    if (!merge->taken)
        return false;
    const struct xfa_chunk *chunk = merge->heap->chunk;
    const struct row *row = next_row(merge->heap);
    *merged = (struct xfa_merged){&row->event, row->seq, chunk->lane, chunk->tid,
                                  chunk->segment == XFA_NO_SEGMENT};
    return true;
}

void xfa_merge_free(struct xfa_merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->count; i++)
        free(merge->heap[i].rows);
    xfa_index_free(merge->index);
    free(merge->heap);
    free(merge->events);
    free(merge->keys);
    free(merge);
}
