/*
 * A tournament over the open chunks: the leaves are their next events, an inner node is the earlier
 * one of its two. Which lane comes next is as good as random where threads alternate, so that a
 * branch on it is guessed wrongly every other time: the way up from a leaf has none.
 */
#include "analyzer/read/merge.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/window.h"

#define BATCH 256
#define NOBODY UINT32_MAX

/* The next event of an open chunk: its time, the chunk's rank, its slot. */
typedef unsigned __int128 node;

static const node nothing = ~(node)0;

struct xfa_merge {
    struct xfa_index *index;
    struct xfa_windows *windows;
    size_t next;              /* chunk to open */
    struct xfa_window *slots; /* `width` of them, a power of two */
    uint32_t *vacant;         /* slots, `width - open` of them */
    node *tree;               /* tree[1] is the next of all, tree[width + slot] a leaf */
    size_t width, open;
    uint64_t last_ns; /* of the event that was returned last */
    uint32_t ended;   /* slot whose events have all been returned; or NOBODY */
    struct xfa_merged batch[BATCH];
};

/* ---- the tournament --------------------------------------------------------------------- */

static node make_node(uint64_t ns, uint32_t rank, uint32_t slot)
{
    return (node)ns << 64 | (uint64_t)rank << 32 | slot;
}

static uint64_t ns_of(node n)
{
    return (uint64_t)(n >> 64);
}

/* Returns the next of all. */
static node put_leaf(struct xfa_merge *merge, uint32_t slot, node leaf)
{
    node *tree = merge->tree;
    size_t at = merge->width + slot;
    tree[at] = leaf;
    for (; at > 1; at /= 2) {
        node other = tree[at ^ 1];
        leaf = other < leaf ? other : leaf;
        tree[at / 2] = leaf;
    }
    return leaf;
}

static uint64_t next_ns(const struct xfa_window *window)
{
    return window->times[window->next];
}

static void enter(struct xfa_merge *merge, uint32_t slot)
{
    const struct xfa_window *window = &merge->slots[slot];
    put_leaf(merge, slot, make_node(next_ns(window), window->chunk->rank, slot));
}

/* Twice as many slots. */
static void widen(struct xfa_merge *merge)
{
    size_t was = merge->width, width = was ? 2 * was : 4, slots_room = was, vacant_room = was;
    merge->slots = xfa_room(merge->slots, &slots_room, width, sizeof *merge->slots);
    merge->vacant = xfa_room(merge->vacant, &vacant_room, width, sizeof *merge->vacant);
    free(merge->tree);
    merge->tree = xfa_alloc(2 * width * sizeof *merge->tree);
    merge->width = width;
    for (size_t i = 0; i < 2 * width; i++)
        merge->tree[i] = nothing;
    for (size_t i = was; i < width; i++)
        merge->vacant[i - was] = (uint32_t)(width + was - 1 - i); /* the first one is taken first */
    for (size_t i = 0; i < was; i++)
        enter(merge, (uint32_t)i);
}

/* ---- chunks ----------------------------------------------------------------------------- */

static void open_chunk(struct xfa_merge *merge, const struct xfa_chunk *chunk)
{
    if (merge->open == merge->width)
        widen(merge);
    if (chunk->first_ns < merge->last_ns) /* it had to wait */
        merge->index->trace->loss.bad_entries++;
    uint32_t slot = merge->vacant[merge->width - merge->open - 1];
    if (!xfa_window_open(merge->windows, &merge->slots[slot], chunk))
        return;
    merge->open++;
    enter(merge, slot);
}

static void read_on(struct xfa_merge *merge, uint32_t slot)
{
    if (xfa_window_more(merge->windows, &merge->slots[slot])) {
        enter(merge, slot);
    } else {
        put_leaf(merge, slot, nothing);
        merge->open--;
        merge->vacant[merge->width - merge->open - 1] = slot;
    }
}

static bool is_due(const struct xfa_merge *merge)
{
    const struct xfa_index *index = merge->index;
    return merge->next < index->count && merge->open < XFA_MERGE_OPEN &&
           (merge->open == 0 || index->chunks[merge->next].first_ns <= ns_of(merge->tree[1]));
}

/* The latest time for which no chunk is to be opened: those that are due have been. */
static uint64_t last_before_next(const struct xfa_merge *merge)
{
    const struct xfa_index *index = merge->index;
    bool none = merge->next == index->count || merge->open == XFA_MERGE_OPEN;
    return none ? UINT64_MAX : index->chunks[merge->next].first_ns - 1;
}

/* ---- handing out ------------------------------------------------------------------------ */

/* The i-th by time. */
static bool is_own(const struct xfa_window *window, uint32_t i)
{
    return xfa_is_own_row(&window->events[window->order[i]]);
}

/* Is it the last row of its thread, or are those behind it the recorder's own work alone? */
static bool is_last(const struct xfa_window *window)
{
    const struct xfa_chunk *chunk = window->chunk;
    uint64_t last = chunk->first_seq + chunk->rows - 1 - window->first_seq;
    uint32_t at = window->count - 1;
    if (!chunk->ends)
        return false;
    if (window->sorted)
        return window->rows[window->next] == window->last;
    if (window->rows[at] != last) /* it is not here */
        return false;
    while (at > window->next && is_own(window, at))
        at--;
    return at == window->next && !is_own(window, at);
}

static void hand_out(struct xfa_merged *merged, const struct xfa_window *window)
{
    const struct xfa_chunk *chunk = window->chunk;
    merged->event = &window->events[window->order[window->next]];
    __builtin_prefetch(&merged->event->kind);
    merged->seq = window->first_seq + window->rows[window->next];
    merged->lane = chunk->lane;
    merged->tid = chunk->tid;
    merged->last = is_last(window);
}

/* Until a chunk is to be opened or read on. */
static size_t fill_batch(struct xfa_merge *merge)
{
    uint64_t last_ns = last_before_next(merge);
    node first = merge->tree[1];
    size_t count = 0;
    while (count < BATCH && ns_of(first) <= last_ns) {
        uint32_t slot = (uint32_t)first;
        struct xfa_window *window = &merge->slots[slot];
        hand_out(&merge->batch[count++], window);
        merge->last_ns = ns_of(first);
        if (++window->next == window->count) {
            merge->ended = slot;
            break;
        }
        first = put_leaf(merge, slot, (node)next_ns(window) << 64 | (uint64_t)first);
    }
    return count;
}

size_t xfa_merge_next_batch(struct xfa_merge *merge, const struct xfa_merged **events)
{
    if (merge->ended != NOBODY)
        read_on(merge, merge->ended);
    merge->ended = NOBODY;
    while (is_due(merge))
        open_chunk(merge, &merge->index->chunks[merge->next++]);
    *events = merge->batch;
    return merge->open > 0 ? fill_batch(merge) : 0;
}

/* ---- the door --------------------------------------------------------------------------- */

struct xfa_merge *xfa_merge_within(struct xfa_trace *trace, size_t rows)
{
    struct xfa_merge *merge = xfa_alloc(sizeof *merge);
    merge->index = xfa_index_new(trace);
    merge->windows = xfa_windows_new(merge->index, rows);
    merge->ended = NOBODY;
    widen(merge);
    return merge;
}

struct xfa_merge *xfa_merge_new(struct xfa_trace *trace)
{
    return xfa_merge_within(trace, XFA_MERGE_ROWS);
}

double xfa_merge_part(const struct xfa_merge *merge)
{
    size_t count = merge->index->count;
    return count ? (double)merge->next / (double)count : 1;
}

uint64_t xfa_merge_read(const struct xfa_merge *merge)
{
    return xfa_windows_read(merge->windows);
}

uint64_t xfa_merge_rows(const struct xfa_merge *merge)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < merge->index->count; i++)
        rows += merge->index->chunks[i].rows;
    return rows;
}

void xfa_merge_free(struct xfa_merge *merge)
{
    if (!merge)
        return;
    for (size_t slot = 0; slot < merge->width; slot++)
        if (merge->tree[merge->width + slot] != nothing)
            xfa_window_close(merge->windows, &merge->slots[slot]);
    xfa_windows_free(merge->windows);
    xfa_index_free(merge->index);
    free(merge->slots);
    free(merge->vacant);
    free(merge->tree);
    free(merge);
}
