#include "analyzer/read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/time_order.h"

#define LEAST_ROWS 16 /* kept of a chunk, however many there are */

/* A chunk between its first event and its last. */
struct opened {
    const struct xfa_chunk *chunk;
    struct xft_event *events; /* by time and sequence */
    uint32_t *rows;           /* of each in the chunk; NULL: row i is first + i */
    size_t first;
    size_t next, count;
    bool more;  /* the chunk has rows behind these */
    bool again; /* it was read before: what was wrong has been counted */
};

/* An opened chunk by its next event. */
struct head {
    uint64_t ns;
    uint32_t lane;
    struct opened *opened;
};

struct xfa_merge {
    struct xfa_index *index;
    size_t next;       /* chunk to open */
    struct head *heap; /* the first has the next event */
    size_t count, capacity;
    size_t most, kept;         /* rows of all that are open */
    size_t taken;              /* of the first one's events, handed out */
    struct xft_event *events;  /* a chunk as it lies in the file */
    struct xfa_time_key *keys; /* the rows by time, and as many to sort them */
    size_t events_room, keys_room;
    struct xfa_merged_run run; /* of xfa_merge_next() */
    size_t run_next;
};

/* ---- order ------------------------------------------------------------------------------ */

static uint32_t row_of(const struct opened *opened, size_t i)
{
    return opened->rows ? opened->rows[i] : (uint32_t)(opened->first + i);
}

static uint64_t next_seq(const struct opened *opened)
{
    return opened->chunk->first_seq + row_of(opened, opened->next);
}

static bool is_before(const struct head *a, const struct head *b)
{
    if (a->ns != b->ns)
        return a->ns < b->ns;
    if (a->lane != b->lane)
        return a->lane < b->lane;
    return next_seq(a->opened) < next_seq(b->opened);
}

static void swap(struct head *a, struct head *b)
{
    struct head was = *a;
    *a = *b;
    *b = was;
}

static void sink(struct xfa_merge *merge)
{
    struct head *heap = merge->heap;
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
    struct head *heap = merge->heap;
    for (size_t above; at > 0 && is_before(&heap[at], &heap[above = (at - 1) / 2]); at = above)
        swap(&heap[at], &heap[above]);
}

/* ---- chunks ----------------------------------------------------------------------------- */

/* Into merge->events; *sorted: they lie by time. Damage is counted once, also of a chunk that is
 * read part by part. */
static uint32_t read_chunk(struct xfa_merge *merge, struct opened *opened, bool *sorted)
{
    const struct xfa_chunk *chunk = opened->chunk;
    struct xfa_loss *loss = &merge->index->trace->loss, before = *loss;
    if (merge->events_room < chunk->rows) {
        free(merge->events);
        merge->events = xfa_alloc_unset(chunk->rows * sizeof *merge->events);
        merge->events_room = chunk->rows;
    }
    uint32_t rows = xfa_index_read(merge->index, chunk, merge->events);
    uint64_t last = 0;
    bool wrong = false;
    *sorted = true;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t ns = merge->events[i].start_ns;
        wrong |= ns < chunk->first_ns || ns > chunk->last_ns;
        *sorted &= last <= ns;
        last = ns;
    }
    if (opened->again)
        *loss = before;
    else if (wrong)
        loss->bad_entries++; /* of the INDEX */
    opened->again = true;
    return rows;
}

static bool is_behind(const struct xfa_time_key *last, uint64_t ns, uint32_t row)
{
    return ns != last->ns ? ns > last->ns : row > last->row;
}

static void sort_keys(struct xfa_merge *merge, uint32_t rows)
{
    merge->keys = xfa_room(merge->keys, &merge->keys_room, 2 * (size_t)rows, sizeof *merge->keys);
    for (uint32_t i = 0; i < rows; i++)
        merge->keys[i] = (struct xfa_time_key){merge->events[i].start_ns, i};
    xfa_time_order(merge->keys, rows, merge->keys + rows);
}

static size_t rows_to_keep(const struct xfa_merge *merge, size_t wanted)
{
    size_t share = merge->most / (merge->count + 1);
    size_t left = merge->most > merge->kept ? merge->most - merge->kept : 0;
    size_t most = left < share ? left : share;
    most = most > LEAST_ROWS ? most : LEAST_ROWS;
    return wanted < most ? wanted : most;
}

/* Of the rows of merge->events, as they lie, those from `from` on. */
static void keep_as_they_lie(struct xfa_merge *merge, struct opened *opened, size_t from)
{
    opened->rows = NULL;
    opened->first = from;
    if (from == 0 && opened->count == merge->events_room) {
        opened->events = merge->events;
        merge->events = NULL;
        merge->events_room = 0;
        return;
    }
    opened->events = xfa_alloc_unset(opened->count * sizeof *opened->events);
    memcpy(opened->events, merge->events + from, opened->count * sizeof *opened->events);
}

static void keep_by_time(struct xfa_merge *merge, struct opened *opened, size_t from)
{
    opened->events = xfa_alloc_unset(opened->count * sizeof *opened->events);
    opened->rows = xfa_alloc_unset(opened->count * sizeof *opened->rows);
    for (size_t i = 0; i < opened->count; i++) {
        opened->rows[i] = merge->keys[from + i].row;
        opened->events[i] = merge->events[opened->rows[i]];
    }
}

/* Fills it with what comes behind `last` (NULL: the first rows); false when there is nothing. */
static bool fill(struct xfa_merge *merge, struct opened *opened, const struct xfa_time_key *last)
{
    bool sorted;
    uint32_t rows = read_chunk(merge, opened, &sorted);
    size_t from = 0;
    if (!sorted)
        sort_keys(merge, rows);
    for (; last && from < rows; from++) {
        uint32_t row = sorted ? (uint32_t)from : merge->keys[from].row;
        if (is_behind(last, merge->events[row].start_ns, row))
            break;
    }
    opened->count = rows_to_keep(merge, rows - from);
    opened->more = opened->count < rows - from;
    opened->next = 0;
    if (opened->count == 0)
        return false;
    if (sorted)
        keep_as_they_lie(merge, opened, from);
    else
        keep_by_time(merge, opened, from);
    merge->kept += opened->count;
    return true;
}

static void let_go(struct xfa_merge *merge, struct opened *opened)
{
    merge->kept -= opened->count;
    free(opened->events);
    free(opened->rows);
    opened->events = NULL;
    opened->rows = NULL;
}

static struct head head_of(struct opened *opened)
{
    return (struct head){opened->events[opened->next].start_ns, opened->chunk->lane, opened};
}

static void open_chunk(struct xfa_merge *merge, const struct xfa_chunk *chunk)
{
    struct opened *opened = xfa_alloc(sizeof *opened);
    opened->chunk = chunk;
    if (!fill(merge, opened, NULL)) {
        free(opened);
        return;
    }
    merge->heap = xfa_room(merge->heap, &merge->capacity, merge->count + 1, sizeof *merge->heap);
    merge->heap[merge->count++] = head_of(opened);
    rise(merge, merge->count - 1);
}

/* Rows behind those that are used up; false when there are none. */
static bool refill(struct xfa_merge *merge, struct opened *opened)
{
    size_t end = opened->count - 1;
    struct xfa_time_key last = {opened->events[end].start_ns, row_of(opened, end)};
    let_go(merge, opened);
    return opened->more && fill(merge, opened, &last);
}

/* Behind the events that were handed out last. */
static void advance(struct xfa_merge *merge)
{
    struct opened *first = merge->heap->opened;
    first->next += merge->taken;
    merge->taken = 0;
    if (first->next < first->count || refill(merge, first)) {
        *merge->heap = head_of(first);
    } else {
        free(first);
        if (--merge->count == 0)
            return;
        *merge->heap = merge->heap[merge->count];
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

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first one's events before any other's, one at least. */
static size_t run_length(const struct xfa_merge *merge)
{
    const struct xfa_index *index = merge->index;
    const struct head *heap = merge->heap;
    const struct opened *first = heap->opened;
    uint64_t until = UINT64_MAX;
    if (merge->next < index->count)
        until = index->chunks[merge->next].first_ns;
    for (size_t i = 1; i < merge->count && i < 3; i++)
        until = least(until, heap[i].ns);
    size_t end = first->next + 1;
    while (end < first->count && first->events[end].start_ns < until)
        end++;
    return end - first->next;
}

bool xfa_merge_next_run(struct xfa_merge *merge, struct xfa_merged_run *run)
{
    const struct xfa_index *index = merge->index;
    if (merge->taken)
        advance(merge);
    while (merge->next < index->count &&
           (merge->count == 0 || index->chunks[merge->next].first_ns <= merge->heap->ns))
        open_chunk(merge, &index->chunks[merge->next++]);
    if (merge->count == 0)
        return false;
    const struct opened *first = merge->heap->opened;
    const struct xfa_chunk *chunk = first->chunk;
    merge->taken = run_length(merge);
    *run = (struct xfa_merged_run){.events = first->events + first->next,
                                   .count = merge->taken,
                                   .lane = chunk->lane,
                                   .tid = chunk->tid,
                                   .from_slab = chunk->segment == XFA_NO_SEGMENT,
                                   .first_seq = chunk->first_seq};
    if (first->rows)
        run->rows = first->rows + first->next;
    else
        run->first_seq += first->first + first->next;
    return true;
}

bool xfa_merge_next(struct xfa_merge *merge, struct xfa_merged *merged)
{
    struct xfa_merged_run *run = &merge->run;
    if (merge->run_next == run->count) {
        *run = (struct xfa_merged_run){0};
        merge->run_next = 0;
        if (!xfa_merge_next_run(merge, run))
            return false;
    }
    size_t i = merge->run_next++;
    *merged = (struct xfa_merged){&run->events[i], xfa_merged_seq(run, i), run->lane, run->tid,
                                  run->from_slab};
    return true;
}

void xfa_merge_free(struct xfa_merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->count; i++) {
        let_go(merge, merge->heap[i].opened);
        free(merge->heap[i].opened);
    }
    xfa_index_free(merge->index);
    free(merge->heap);
    free(merge->events);
    free(merge->keys);
    free(merge);
}
