#include "analyzer/read/window.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/read_columns.h"
#include "common/search.h"

/* Kept of a chunk, however many there are: so none is read more often than some 20 times. */
#define LEAST_ROWS 128
/* A larger buffer is not kept for the next chunk. */
#define SPARE_BYTES ((size_t)2 * XFT_SLAB_BYTES)

/* Columns that are decoded as they are needed. */
struct xfa_decoding {
    struct xfa_decoding *spare; /* the next one, when it is not in use */
    struct xfa_columns columns;
    unsigned char *raw; /* the payload */
    size_t raw_room, cost;
    uint32_t done, end; /* rows of the segment: decoded, wanted */
    uint64_t times[XFA_BLOCK_ROWS];
    struct xft_event block[XFA_BLOCK_ROWS];
};

/* Rows that have been sorted. */
struct xfa_sorting {
    struct xfa_sorting *spare;
    struct xft_event *events;
    uint64_t *times;
    uint32_t *order, *rows;
    size_t events_room, times_room, order_room, rows_room, cost;
    bool more; /* the chunk has rows behind these */
};

struct xfa_windows {
    struct xfa_index *index;
    size_t open, most, kept; /* rows */
    uint64_t read;           /* rows, each as often as it was */
    struct xfa_decoding *decodings;
    struct xfa_sorting *sorted;
    struct xfa_block block;
    uint32_t identity[XFA_BLOCK_ROWS];
    struct xft_event *events; /* a chunk as it lies in the file */
    struct xfa_time_key *keys;
    size_t events_room, keys_room;
};

static struct xfa_loss *loss_of(struct xfa_windows *windows)
{
    return &windows->index->trace->loss;
}

static void lose_rows(struct xfa_windows *windows, uint64_t rows)
{
    loss_of(windows)->bad_rows = xfa_add(loss_of(windows)->bad_rows, rows);
}

/* ---- what may be kept ------------------------------------------------------------------- */

/* Of one of those that are open. */
static size_t rows_to_keep(const struct xfa_windows *windows)
{
    size_t share = windows->most / windows->open;
    size_t left = windows->most > windows->kept ? windows->most - windows->kept : 0;
    size_t most = left < share ? left : share;
    return most > LEAST_ROWS ? most : LEAST_ROWS;
}

/* Bytes that it takes to have the segment open, in rows; at least that, before its columns are. */
static size_t cost_of(const struct xfa_segment *segment, const struct xfa_columns *columns)
{
    size_t bytes = segment->raw + sizeof(struct xfa_decoding);
    bytes += columns ? xfa_columns_bytes(columns) : 0;
    return bytes / sizeof(struct xft_event) + 1;
}

static struct xfa_decoding *take_decoding(struct xfa_windows *windows)
{
    struct xfa_decoding *decoding = windows->decodings;
    if (!decoding)
        return xfa_alloc(sizeof *decoding);
    windows->decodings = decoding->spare;
    return decoding;
}

static void return_decoding(struct xfa_windows *windows, struct xfa_decoding *decoding)
{
    if (decoding->raw_room > SPARE_BYTES) {
        free(decoding->raw);
        decoding->raw = NULL;
        decoding->raw_room = 0;
    }
    if (xfa_columns_bytes(&decoding->columns) > SPARE_BYTES) {
        xfa_columns_free(&decoding->columns);
        decoding->columns = (struct xfa_columns){0};
    }
    windows->kept -= decoding->cost;
    decoding->cost = 0;
    decoding->spare = windows->decodings;
    windows->decodings = decoding;
}

static struct xfa_sorting *take_sorted(struct xfa_windows *windows)
{
    struct xfa_sorting *sorted = windows->sorted;
    if (!sorted)
        return xfa_alloc(sizeof *sorted);
    windows->sorted = sorted->spare;
    return sorted;
}

static void empty_sorted(struct xfa_sorting *sorted)
{
    free(sorted->events);
    free(sorted->times);
    free(sorted->order);
    free(sorted->rows);
    *sorted = (struct xfa_sorting){0};
}

static void return_sorted(struct xfa_windows *windows, struct xfa_sorting *sorted)
{
    windows->kept -= sorted->cost;
    sorted->cost = 0;
    if (sorted->events_room * sizeof *sorted->events > SPARE_BYTES)
        empty_sorted(sorted);
    sorted->spare = windows->sorted;
    windows->sorted = sorted;
}

/* ---- rows that lie by time ---------------------------------------------------------------- */

static uint32_t block_rows(uint32_t done, uint32_t end)
{
    return end - done < XFA_BLOCK_ROWS ? end - done : XFA_BLOCK_ROWS;
}

static bool open_columns(struct xfa_windows *windows, struct xfa_decoding *decoding,
                         const struct xfa_chunk *chunk)
{
    struct xfa_trace *trace = windows->index->trace;
    const struct xfa_segment *segment = &trace->segments[chunk->segment];
    struct xft_chunk head;
    uint64_t end = (uint64_t)chunk->skip + chunk->rows;
    windows->read += chunk->rows;
    decoding->raw = xfa_room(decoding->raw, &decoding->raw_room, segment->raw + 1, 1);
    struct xfa_cursor payload = {decoding->raw, decoding->raw + segment->raw};
    if (!xfa_segment_unpack(trace, segment, decoding->raw) ||
        !xfa_columns_open(&decoding->columns, &head, &payload)) {
        loss_of(windows)->bad_entries++;
        lose_rows(windows, chunk->rows);
        return false;
    }
    decoding->done = 0;
    decoding->end = end < head.rows ? (uint32_t)end : head.rows;
    return true;
}

/* Do its rows lie by time? Counts times that are not as the INDEX says. */
static bool in_order(struct xfa_windows *windows, const struct xfa_decoding *decoding,
                     const struct xfa_chunk *chunk)
{
    static const uint64_t zeros[XFA_BLOCK_ROWS];
    struct xfa_columns columns = decoding->columns;
    int position = xfa_columns_only(&columns, XFA_COLUMN_START);
    const uint64_t *times = position < 0 ? zeros : windows->block.values[position];
    uint64_t last = 0;
    bool sorted = true, wrong = false;
    for (uint32_t done = 0, rows; done < decoding->end; done += rows) {
        rows = block_rows(done, decoding->end);
        if (!xfa_columns_next(&columns, &windows->block, NULL, rows))
            break;
        for (uint32_t i = chunk->skip > done ? chunk->skip - done : 0; i < rows; i++) {
            wrong |= times[i] < chunk->first_ns || times[i] > chunk->last_ns;
            sorted &= last <= times[i];
            last = times[i];
        }
    }
    loss_of(windows)->bad_entries += wrong;
    return sorted;
}

static bool next_block(struct xfa_windows *windows, struct xfa_window *window)
{
    const struct xfa_chunk *chunk = window->chunk;
    struct xfa_decoding *decoding = window->decoding;
    while (decoding->done < decoding->end) {
        uint32_t rows = block_rows(decoding->done, decoding->end), done = decoding->done;
        if (!xfa_columns_next(&decoding->columns, &windows->block, decoding->block, rows))
            break;
        decoding->done += rows;
        if (decoding->done <= chunk->skip)
            continue;
        for (uint32_t i = 0; i < rows; i++)
            decoding->times[i] = decoding->block[i].start_ns;
        window->events = decoding->block;
        window->times = decoding->times;
        window->order = window->rows = windows->identity;
        window->first_seq = chunk->first_seq - chunk->skip + done;
        window->next = chunk->skip > done ? chunk->skip - done : 0;
        window->count = rows;
        return true;
    }
    uint64_t seen = decoding->done > chunk->skip ? decoding->done - chunk->skip : 0;
    lose_rows(windows, chunk->rows - seen);
    xfa_window_close(windows, window);
    return false;
}

/* ---- rows that do not ------------------------------------------------------------------- */

static void make_room(struct xfa_windows *windows, size_t rows)
{
    if (rows <= windows->events_room)
        return;
    free(windows->events);
    windows->events = xfa_alloc_unset(rows * sizeof *windows->events);
    windows->events_room = rows;
}

/* All its rows into windows->events; how many there are. */
static uint32_t decode_all(struct xfa_windows *windows, struct xfa_decoding *decoding,
                           const struct xfa_chunk *chunk)
{
    uint32_t kept = 0;
    make_room(windows, chunk->rows);
    for (uint32_t rows; decoding->done < decoding->end; decoding->done += rows) {
        uint32_t from = chunk->skip > decoding->done ? chunk->skip - decoding->done : 0;
        rows = block_rows(decoding->done, decoding->end);
        struct xft_event *to = from ? decoding->block : windows->events + kept;
        if (!xfa_columns_next(&decoding->columns, &windows->block, to, rows))
            break;
        if (from >= rows)
            continue;
        if (from)
            memcpy(windows->events + kept, to + from, (rows - from) * sizeof *to);
        kept += rows - from;
    }
    lose_rows(windows, chunk->rows - kept);
    return kept;
}

/* The same of a slab, or of a segment that there is no room for; `again`: what is wrong with it has
 * been counted. */
static uint32_t read_all(struct xfa_windows *windows, const struct xfa_chunk *chunk, bool again)
{
    struct xfa_loss before = *loss_of(windows);
    bool wrong = false;
    windows->read += chunk->rows;
    make_room(windows, chunk->rows);
    uint32_t rows = xfa_index_read(windows->index, chunk, windows->events);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t ns = windows->events[i].start_ns;
        wrong |= ns < chunk->first_ns || ns > chunk->last_ns;
    }
    if (again)
        *loss_of(windows) = before;
    else if (wrong)
        loss_of(windows)->bad_entries++; /* of the INDEX */
    return rows;
}

static bool is_behind(const struct xfa_time_key *last, const struct xfa_time_key *key)
{
    return key->ns != last->ns ? key->ns > last->ns : key->row > last->row;
}

/* The rows of windows->events by time; how many of them are not behind `last` (NULL: none). */
static uint32_t sort_keys(struct xfa_windows *windows, uint32_t rows,
                          const struct xfa_time_key *last)
{
    uint32_t from = 0;
    windows->keys =
        xfa_room(windows->keys, &windows->keys_room, 2 * (size_t)rows, sizeof *windows->keys);
    for (uint32_t i = 0; i < rows; i++)
        windows->keys[i] = (struct xfa_time_key){windows->events[i].start_ns, i};
    xfa_time_order(windows->keys, rows, windows->keys + rows);
    while (last && from < rows && !is_behind(last, &windows->keys[from]))
        from++;
    return from;
}

/* All that are there: the rows stay where they are. */
static void keep_all(struct xfa_windows *windows, struct xfa_window *window)
{
    struct xfa_sorting *sorted = window->sorted;
    struct xft_event *events = sorted->events;
    size_t room = sorted->events_room;
    sorted->events = windows->events;
    sorted->events_room = windows->events_room;
    windows->events = events;
    windows->events_room = room;
    for (uint32_t i = 0; i < window->count; i++)
        sorted->order[i] = windows->keys[i].row;
    window->rows = sorted->order;
}

static void keep_some(struct xfa_windows *windows, struct xfa_window *window, uint32_t from)
{
    struct xfa_sorting *sorted = window->sorted;
    sorted->rows = xfa_room(sorted->rows, &sorted->rows_room, window->count, sizeof *sorted->rows);
    if (sorted->events_room < window->count) {
        free(sorted->events);
        sorted->events = xfa_alloc_unset(window->count * sizeof *sorted->events);
        sorted->events_room = window->count;
    }
    for (uint32_t i = 0; i < window->count; i++) {
        sorted->rows[i] = windows->keys[from + i].row;
        sorted->order[i] = i;
        sorted->events[i] = windows->events[sorted->rows[i]];
    }
    window->rows = sorted->rows;
}

static uint32_t last_call(const struct xfa_windows *windows, uint32_t rows)
{
    while (rows > 0 && xfa_is_own_row(&windows->events[rows - 1]))
        rows--;
    return rows > 0 ? rows - 1 : XFA_NO_ROW;
}

/* Takes the rows of windows->events that come behind `last`, or as many of them as may be kept. */
static bool take_rows(struct xfa_windows *windows, struct xfa_window *window, uint32_t rows,
                      const struct xfa_time_key *last)
{
    uint32_t from = sort_keys(windows, rows, last);
    struct xfa_sorting *sorted = window->sorted ? window->sorted : take_sorted(windows);
    window->sorted = sorted;
    window->last = last_call(windows, rows);
    windows->kept -= sorted->cost;
    size_t most = rows_to_keep(windows);
    window->next = 0;
    window->count = rows - from < most ? rows - from : (uint32_t)most;
    sorted->more = from + window->count < rows;
    sorted->cost = window->count;
    windows->kept += sorted->cost;
    if (window->count == 0) {
        xfa_window_close(windows, window);
        return false;
    }
    sorted->order =
        xfa_room(sorted->order, &sorted->order_room, window->count, sizeof *sorted->order);
    sorted->times =
        xfa_room(sorted->times, &sorted->times_room, window->count, sizeof *sorted->times);
    for (uint32_t i = 0; i < window->count; i++)
        sorted->times[i] = windows->keys[from + i].ns;
    if (window->count == rows)
        keep_all(windows, window);
    else
        keep_some(windows, window, from);
    window->events = sorted->events;
    window->times = sorted->times;
    window->order = sorted->order;
    window->first_seq = window->chunk->first_seq;
    return true;
}

/* ---- the door --------------------------------------------------------------------------- */

struct xfa_windows *xfa_windows_new(struct xfa_index *index, size_t rows)
{
    struct xfa_windows *windows = xfa_alloc(sizeof *windows);
    windows->index = index;
    windows->most = rows;
    for (uint32_t i = 0; i < XFA_BLOCK_ROWS; i++)
        windows->identity[i] = i;
    return windows;
}

uint64_t xfa_windows_read(const struct xfa_windows *windows)
{
    return windows->read;
}

void xfa_windows_free(struct xfa_windows *windows)
{
    for (struct xfa_decoding *decoding; (decoding = windows->decodings);) {
        windows->decodings = decoding->spare;
        xfa_columns_free(&decoding->columns);
        free(decoding->raw);
        free(decoding);
    }
    for (struct xfa_sorting *sorted; (sorted = windows->sorted);) {
        windows->sorted = sorted->spare;
        empty_sorted(sorted);
        free(sorted);
    }
    free(windows->events);
    free(windows->keys);
    free(windows);
}

static bool open_segment(struct xfa_windows *windows, struct xfa_window *window,
                         const struct xfa_segment *segment)
{
    const struct xfa_chunk *chunk = window->chunk;
    struct xfa_decoding *decoding = take_decoding(windows);
    bool good = open_columns(windows, decoding, chunk);
    size_t cost = cost_of(segment, &decoding->columns);
    if (good && in_order(windows, decoding, chunk) && cost <= rows_to_keep(windows)) {
        windows->kept += decoding->cost = cost;
        window->decoding = decoding;
        return next_block(windows, window);
    }
    uint32_t rows = good ? decode_all(windows, decoding, chunk) : 0;
    return_decoding(windows, decoding);
    return take_rows(windows, window, rows, NULL);
}

bool xfa_window_open(struct xfa_windows *windows, struct xfa_window *window,
                     const struct xfa_chunk *chunk)
{
    *window = (struct xfa_window){.chunk = chunk};
    windows->open++;
    if (chunk->segment != XFA_NO_SEGMENT) {
        const struct xfa_segment *segment = &windows->index->trace->segments[chunk->segment];
        if (cost_of(segment, NULL) <= rows_to_keep(windows))
            return open_segment(windows, window, segment);
    }
    return take_rows(windows, window, read_all(windows, chunk, false), NULL);
}

bool xfa_window_more(struct xfa_windows *windows, struct xfa_window *window)
{
    uint32_t end = window->count - 1;
    if (window->decoding)
        return next_block(windows, window);
    if (!window->sorted->more) {
        xfa_window_close(windows, window);
        return false;
    }
    struct xfa_time_key last = {window->times[end], window->rows[end]};
    return take_rows(windows, window, read_all(windows, window->chunk, true), &last);
}

void xfa_window_close(struct xfa_windows *windows, struct xfa_window *window)
{
    if (window->decoding)
        return_decoding(windows, window->decoding);
    if (window->sorted)
        return_sorted(windows, window->sorted);
    window->decoding = NULL;
    window->sorted = NULL;
    windows->open--;
}

/* ---- rows by time ---------------------------------------------------------------------------- */

#define BLOCK 12 /* sorted by insertion */

static void insert(struct xfa_time_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct xfa_time_key key = keys[i];
        size_t at = i;
        for (; at > 0 && key.ns < keys[at - 1].ns; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static bool is_by(const void *key, const void *ns)
{
    return ((const struct xfa_time_key *)key)->ns <= *(const uint64_t *)ns;
}

/* The first of the sorted keys that is later than `ns`. */
static size_t first_after(const struct xfa_time_key *keys, size_t count, uint64_t ns)
{
    return xfc_partition(keys, count, sizeof *keys, is_by, &ns);
}

/* keys[0, middle) and keys[middle, count) are sorted; the first is moved out of the way. */
static void merge(struct xfa_time_key *keys, size_t middle, size_t count,
                  struct xfa_time_key *spare)
{
    size_t from = first_after(keys, middle, keys[middle].ns), left = 0, right = middle;
    size_t moved = middle - from;
    memcpy(spare, keys + from, moved * sizeof *keys);
    while (left < moved && right < count) {
        if (keys[right].ns < spare[left].ns)
            keys[from++] = keys[right++];
        else
            keys[from++] = spare[left++];
    }
    memcpy(keys + from, spare + left, (moved - left) * sizeof *keys);
}

void xfa_time_order(struct xfa_time_key *keys, size_t count, struct xfa_time_key *spare)
{
    for (size_t at = 0; at < count; at += BLOCK)
        insert(keys + at, count - at < BLOCK ? count - at : BLOCK);
    for (size_t half = BLOCK; half < count; half *= 2) {
        for (size_t at = 0; at + half < count; at += 2 * half) {
            size_t both = count - at < 2 * half ? count - at : 2 * half;
            if (keys[at + half].ns < keys[at + half - 1].ns)
                merge(keys + at, half, both, spare);
        }
    }
}
