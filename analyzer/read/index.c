#include "analyzer/read/index.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/read_columns.h"
#include "analyzer/read/seen.h"
#include "common/search.h"

#define HEAD_BYTES 4096 /* read at a time, until the head of an EVENTS segment is there */
#define WINDOW_LOG 21   /* of XFA_MAX_CHUNK: memory that a frame may ask for */

struct xfa_index_scratch {
    struct xfa_columns columns;
    struct xfa_block block;
    struct xft_event events[XFA_BLOCK_ROWS];
    unsigned char slab[XFT_SLAB_BYTES];
    ZSTD_DCtx *head;    /* for the heads of segments; NULL until one is compressed */
    unsigned char *raw; /* payload of a segment */
    size_t raw_room;
};

static struct xfa_loss *loss_of(struct xfa_index *index)
{
    return &index->trace->loss;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Hands rows [from, from + count) of the open columns to `out`, or only their times to the chunk;
 * returns how many there were. */
struct span {
    uint64_t first, end;   /* rows wanted */
    struct xft_event *out; /* NULL: not wanted */
    uint64_t first_ns, last_ns;
};

static void take_block(struct span *span, const struct xft_event *events, uint64_t row, size_t rows)
{
    for (size_t i = 0; i < rows; i++, row++) {
        uint64_t ns = events[i].start_ns;
        if (row < span->first || row >= span->end)
            continue;
        span->first_ns = ns < span->first_ns ? ns : span->first_ns;
        span->last_ns = ns > span->last_ns ? ns : span->last_ns;
        if (span->out)
            span->out[row - span->first] = events[i];
    }
}

/* Rows of a segment up to span->end; returns how many of all there can be read. */
static uint32_t read_columns(struct xfa_index *index, struct xfa_cursor payload, struct span *span)
{
    struct xfa_index_scratch *scratch = index->scratch;
    struct xft_chunk head;
    uint32_t done = 0;
    if (!xfa_columns_open(&scratch->columns, &head, &payload)) {
        loss_of(index)->bad_entries++;
        return 0;
    }
    while (done < head.rows && done < span->end) {
        uint32_t rows = head.rows - done < XFA_BLOCK_ROWS ? head.rows - done : XFA_BLOCK_ROWS;
        bool direct = span->out && span->first == 0 && span->end >= done + rows;
        struct xft_event *to = direct ? span->out + done : scratch->events;
        if (!xfa_columns_next(&scratch->columns, &scratch->block, to, rows))
            break;
        if (!direct)
            take_block(span, to, done, rows);
        done += rows;
    }
    return done;
}

static uint32_t read_segment(struct xfa_index *index, uint32_t number, struct span *span)
{
    const struct xfa_segment *segment = &index->trace->segments[number];
    struct xfa_index_scratch *scratch = index->scratch;
    scratch->raw = xfa_room(scratch->raw, &scratch->raw_room, segment->raw + 1, 1);
    if (!xfa_segment_unpack(index->trace, segment, scratch->raw)) {
        loss_of(index)->bad_entries++;
        return 0;
    }
    struct xfa_cursor payload = {scratch->raw, scratch->raw + segment->raw};
    return read_columns(index, payload, span);
}

/* Rows of a slab of which `bytes` are in the file. */
static uint32_t read_slab(struct xfa_index *index, uint64_t at, size_t bytes, struct span *span)
{
    struct xfa_index_scratch *scratch = index->scratch;
    size_t stride = index->trace->header.event_bytes;
    size_t got = xfa_source_read(&index->trace->source, at, scratch->slab, bytes);
    uint64_t room = got < sizeof(struct xft_slab) ? 0 : (got - sizeof(struct xft_slab)) / stride;
    uint64_t end = span->end < room ? span->end : room;
    for (uint64_t done = span->first; done < end;) {
        size_t rows = end - done < XFA_BLOCK_ROWS ? end - done : XFA_BLOCK_ROWS;
        const unsigned char *raw = scratch->slab + sizeof(struct xft_slab) + done * stride;
        xfa_slab_rows(index->trace, raw, rows, scratch->events);
        take_block(span, scratch->events, done, rows);
        done += rows;
    }
    return (uint32_t)end;
}

uint32_t xfa_index_read(struct xfa_index *index, const struct xfa_chunk *chunk,
                        struct xft_event *events)
{
    struct span span = {.first = chunk->skip,
                        .end = (uint64_t)chunk->skip + chunk->rows,
                        .out = events,
                        .first_ns = UINT64_MAX};
    uint32_t rows = chunk->segment == XFA_NO_SEGMENT
                        ? read_slab(index, chunk->offset, XFT_SLAB_BYTES, &span)
                        : read_segment(index, chunk->segment, &span);
    rows = rows > span.end ? (uint32_t)span.end : rows;
    rows = rows > chunk->skip ? rows - chunk->skip : 0;
    loss_of(index)->bad_rows = xfa_add(loss_of(index)->bad_rows, chunk->rows - rows);
    return rows;
}

/* ---- what the INDEX says ---------------------------------------------------------------- */

/* By number of the segment. */
struct word {
    struct xft_index_entry entry;
    bool given;
};

static bool lies_before(const void *segment, const void *offset)
{
    return xfa_segment_offset(segment) < *(const uint64_t *)offset;
}

/* The EVENTS segment whose header is at `offset`; XFA_NO_SEGMENT when there is none. */
static uint32_t segment_at(const struct xfa_trace *trace, uint64_t offset)
{
    size_t at = xfc_partition(trace->segments, trace->segment_count, sizeof *trace->segments,
                              lies_before, &offset);
    bool found = at < trace->segment_count && at < XFA_NO_SEGMENT &&
                 xfa_segment_offset(&trace->segments[at]) == offset &&
                 trace->segments[at].type == XFT_SEG_EVENTS;
    return found ? (uint32_t)at : XFA_NO_SEGMENT;
}

static void take_words(struct xfa_index *index, struct word *words, const unsigned char *raw,
                       size_t bytes)
{
    struct xft_index_entry entry;
    for (; bytes >= sizeof entry; raw += sizeof entry, bytes -= sizeof entry) {
        memcpy(&entry, raw, sizeof entry);
        uint32_t number = segment_at(index->trace, entry.offset);
        if (number == XFA_NO_SEGMENT || words[number].given)
            loss_of(index)->bad_entries++;
        else
            words[number] = (struct word){entry, true};
    }
    if (bytes > 0)
        loss_of(index)->bad_entries++;
}

static struct word *read_words(struct xfa_index *index)
{
    struct xfa_trace *trace = index->trace;
    struct word *words = xfa_alloc(trace->segment_count * sizeof *words);
    for (size_t i = 0; i < trace->segment_count; i++) {
        if (trace->segments[i].type != XFT_SEG_INDEX)
            continue;
        unsigned char *raw = xfa_segment_load(trace, &trace->segments[i]);
        if (raw)
            take_words(index, words, raw, trace->segments[i].raw);
        else
            trace->loss.bad_entries++;
        free(raw);
    }
    return words;
}

static bool fits(const struct xft_index_entry *entry, const struct xft_chunk *head)
{
    return entry->lane == head->lane && entry->first_seq == head->first_seq &&
           entry->rows == head->rows && entry->first_ns <= entry->last_ns;
}

/* ---- heads ------------------------------------------------------------------------------ */

/* As much of the segment as its head needs; the rest is left compressed. */
static bool unpack_head(struct xfa_index *index, const struct xfa_segment *segment,
                        struct xft_chunk *head)
{
    unsigned char bytes[HEAD_BYTES];
    ZSTD_outBuffer out = {head, sizeof *head, 0};
    struct xfa_index_scratch *scratch = index->scratch;
    scratch->head = scratch->head ? scratch->head : ZSTD_createDCtx();
    if (!scratch->head || ZSTD_isError(ZSTD_DCtx_reset(scratch->head, ZSTD_reset_session_only)) ||
        ZSTD_isError(ZSTD_DCtx_setParameter(scratch->head, ZSTD_d_windowLogMax, WINDOW_LOG)))
        return false;
    for (uint64_t done = 0; done < segment->stored && out.pos < out.size;) {
        size_t left = segment->stored - done < sizeof bytes ? segment->stored - done : sizeof bytes;
        size_t got = xfa_source_read(&index->trace->source, segment->at + done, bytes, left);
        ZSTD_inBuffer in = {bytes, got, 0};
        while (in.pos < in.size && out.pos < out.size)
            if (ZSTD_isError(ZSTD_decompressStream(scratch->head, &out, &in)))
                return false;
        if (got < left)
            break;
        done += got;
    }
    return out.pos == out.size;
}

static bool load_head(struct xfa_index *index, const struct xfa_segment *segment,
                      struct xft_chunk *head)
{
    unsigned char *raw = xfa_segment_load(index->trace, segment);
    bool good = raw && segment->raw >= sizeof *head;
    if (good)
        memcpy(head, raw, sizeof *head);
    free(raw);
    return good;
}

static bool read_head(struct xfa_index *index, const struct xfa_segment *segment,
                      struct xft_chunk *head)
{
    if (segment->flags & XFT_SEG_ZSTD)
        return unpack_head(index, segment, head) || load_head(index, segment, head);
    return segment->stored >= sizeof *head &&
           xfa_source_read(&index->trace->source, segment->at, head, sizeof *head) == sizeof *head;
}

/* ---- building --------------------------------------------------------------------------- */

/* The chunk's rows that are in no other yet. */
static void claim(struct xfa_index *index, struct xfa_seen *seen, const struct xfa_chunk *whole)
{
    uint64_t at = whole->first_seq, end = at + whole->rows, until;
    for (; at < end; at = until) {
        if (xfa_seen_get(seen, whole->lane, at, end, &until)) {
            index->trace->duplicate_events += until - at;
            continue;
        }
        struct xfa_chunk chunk = *whole;
        chunk.skip = (uint32_t)(at - whole->first_seq);
        chunk.first_seq = at;
        chunk.rows = (uint32_t)(until - at);
        index->chunks =
            xfa_room(index->chunks, &index->capacity, index->count + 1, sizeof *index->chunks);
        index->chunks[index->count++] = chunk;
    }
    xfa_seen_add(seen, whole->lane, whole->first_seq, end);
}

static void measure(struct xfa_chunk *chunk, const struct span *span, uint32_t rows)
{
    chunk->rows = rows;
    chunk->first_ns = span->first_ns;
    chunk->last_ns = span->last_ns;
}

static void take_segment(struct xfa_index *index, struct xfa_seen *seen, uint32_t number,
                         const struct word *word)
{
    const struct xfa_segment *segment = &index->trace->segments[number];
    struct xft_chunk head;
    if (!read_head(index, segment, &head) || !xfa_chunk_sound(&head)) {
        loss_of(index)->bad_entries++;
        return;
    }
    struct xfa_chunk chunk = {.lane = head.lane,
                              .tid = head.tid,
                              .first_seq = head.first_seq,
                              .rows = head.rows,
                              .offset = xfa_segment_offset(segment),
                              .segment = number};
    chunk.indexed = word->given && fits(&word->entry, &head);
    if (word->given && !chunk.indexed)
        loss_of(index)->bad_entries++;
    if (chunk.indexed) {
        chunk.first_ns = word->entry.first_ns;
        chunk.last_ns = word->entry.last_ns;
    } else {
        struct span span = {.end = head.rows, .first_ns = UINT64_MAX};
        uint32_t rows = read_segment(index, number, &span);
        loss_of(index)->bad_rows = xfa_add(loss_of(index)->bad_rows, head.rows - rows);
        measure(&chunk, &span, rows);
    }
    claim(index, seen, &chunk);
}

static void take_slab(struct xfa_index *index, struct xfa_seen *seen,
                      const struct xfa_slab_place *place)
{
    struct xft_slab slab;
    if (xfa_source_read(&index->trace->source, place->at, &slab, sizeof slab) < sizeof slab ||
        xfa_slab_worth(index->trace, &slab) != XFA_SLAB_SOUND)
        return;
    struct span span = {.end = slab.committed, .first_ns = UINT64_MAX};
    struct xfa_chunk chunk = {.lane = slab.lane,
                              .tid = slab.tid,
                              .first_seq = slab.first_seq,
                              .offset = place->at,
                              .segment = XFA_NO_SEGMENT};
    uint32_t rows = read_slab(index, place->at, place->bytes, &span);
    loss_of(index)->bad_rows = xfa_add(loss_of(index)->bad_rows, slab.committed - rows);
    measure(&chunk, &span, rows);
    claim(index, seen, &chunk);
}

static int by_lane(const void *a, const void *b)
{
    const struct xfa_chunk *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane > y->lane ? 1 : -1;
    return (x->first_seq > y->first_seq) - (x->first_seq < y->first_seq);
}

static int by_time(const void *a, const void *b)
{
    const struct xfa_chunk *x = a, *y = b;
    if (x->first_ns != y->first_ns)
        return x->first_ns > y->first_ns ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort_chunks(struct xfa_index *index)
{
    if (index->count == 0)
        return;
    qsort(index->chunks, index->count, sizeof *index->chunks, by_lane);
    for (size_t i = 0; i < index->count; i++) {
        struct xfa_chunk *chunk = &index->chunks[i], *next = chunk + 1;
        chunk->rank = (uint32_t)i;
        chunk->ends = i + 1 == index->count || next->lane != chunk->lane || next->tid != chunk->tid;
    }
    qsort(index->chunks, index->count, sizeof *index->chunks, by_time);
}

static void build(struct xfa_index *index, struct xfa_seen *seen)
{
    struct xfa_trace *trace = index->trace;
    struct word *words = read_words(index);
    size_t slabs;
    for (size_t i = 0; i < trace->segment_count && i < XFA_NO_SEGMENT; i++)
        if (trace->segments[i].type == XFT_SEG_EVENTS)
            take_segment(index, seen, (uint32_t)i, &words[i]);
    free(words);
    struct xfa_slab_place *places = xfa_slabs_find(trace, &slabs);
    for (size_t i = 0; i < slabs; i++)
        take_slab(index, seen, &places[i]);
    free(places);
    sort_chunks(index);
}

struct xfa_index *xfa_index_new(struct xfa_trace *trace)
{
    struct xfa_index *index = xfa_alloc(sizeof *index);
    struct xfa_seen seen;
    index->trace = trace;
    index->scratch = xfa_alloc(sizeof *index->scratch);
    xfa_seen_init(&seen);
    xfa_trace_reset(trace);
    build(index, &seen);
    trace->loss.missing_events = xfa_seen_missing(&seen);
    xfa_seen_free(&seen);
    return index;
}

void xfa_index_free(struct xfa_index *index)
{
    if (!index)
        return;
    ZSTD_freeDCtx(index->scratch->head);
    xfa_columns_free(&index->scratch->columns);
    free(index->scratch->raw);
    free(index->scratch);
    xfa_trace_rest(index->trace);
    free(index->chunks);
    free(index);
}
