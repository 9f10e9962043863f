/* Events: columns of compressed segments, and slabs the recorder had not compressed yet. */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "seen.h"

#define BLOCK_ROWS 256
#define MAX_COLUMNS 64
#define MAX_EVENT_BYTES 4096

struct column {
    uint16_t id;
    uint8_t encoding;
    bool undecodable; /* of an encoding this version does not know */
    int base;         /* position in the directory, for XFT_ENC_DIFF */
    struct xfa_cursor data;
    uint64_t previous; /* XFT_ENC_DELTA: the row before; XFT_ENC_CONST: the value */
};

struct stream {
    struct xfa_trace *trace;
    struct xfa_seen seen;
    xfa_batch_fn *fn;
    void *context;
    struct xft_chunk chunk;
    struct column columns[MAX_COLUMNS];
    uint64_t values[MAX_COLUMNS][BLOCK_ROWS];
    struct xft_event events[BLOCK_ROWS];
};

/* ---- handing on ----------------------------------------------------------------------- */

/* Hands on those rows that were not met before. */
static void emit(struct stream *stream, struct xfa_batch batch)
{
    uint64_t end = batch.first_seq + batch.rows;
    while (batch.first_seq < end) {
        uint64_t until;
        bool met = xfa_seen_get(&stream->seen, batch.lane, batch.first_seq, end, &until);
        batch.rows = until - batch.first_seq;
        if (met)
            stream->trace->duplicate_events += batch.rows;
        else
            stream->fn(stream->context, &batch);
        batch.events += batch.rows;
        batch.first_seq = until;
    }
}

static void bad_rows(struct stream *stream, uint64_t rows)
{
    stream->trace->loss.bad_rows = xfa_add(stream->trace->loss.bad_rows, rows);
}

/* ---- columns -------------------------------------------------------------------------- */

static bool varint(struct xfa_cursor *cursor, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = result;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static bool decode_rows(struct stream *stream, size_t position, size_t rows)
{
    struct column *column = &stream->columns[position];
    uint64_t *values = stream->values[position];
    const uint64_t *base = column->base >= 0 ? stream->values[column->base] : NULL;
    uint64_t previous = column->previous;
    for (size_t i = 0; i < rows; i++) {
        uint64_t value = previous;
        if (column->encoding != XFT_ENC_CONST && !varint(&column->data, &value))
            return false;
        if (column->encoding == XFT_ENC_DELTA)
            value = previous += unzigzag(value);
        else if (column->encoding == XFT_ENC_DIFF)
            value = base[i] + unzigzag(value);
        values[i] = value;
    }
    column->previous = previous;
    return true;
}

#define SCATTER_ROW(number, field)                                                                 \
    case number:                                                                                   \
        for (size_t i = 0; i < rows; i++)                                                          \
            events[i].field = (__typeof__(events[i].field))values[i];                              \
        break;

static void scatter(struct xft_event *events, unsigned id, const uint64_t *values, size_t rows)
{
    switch (id) {
        XFT_COLUMN_LIST(SCATTER_ROW)
    default: /* a column of a newer version */
        break;
    }
}

static bool known_column(unsigned id)
{
#define KNOWN_ROW(number, field) || id == number
    return false XFT_COLUMN_LIST(KNOWN_ROW);
#undef KNOWN_ROW
}

static int directory_position(const struct stream *stream, uint32_t before, unsigned id)
{
    for (uint32_t i = 0; i < before; i++)
        if (stream->columns[i].id == id)
            return (int)i;
    return -1;
}

/* A column this version cannot decode reads as zero where it is unknown, and is damage where it is
 * known. */
static bool column_usable(struct stream *stream, uint32_t position)
{
    struct column *column = &stream->columns[position];
    bool ok =
        column->encoding <= XFT_ENC_DIFF && (column->encoding != XFT_ENC_DIFF || column->base >= 0);
    if (ok && column->encoding == XFT_ENC_DIFF)
        ok = !stream->columns[column->base].undecodable;
    if (ok && column->encoding == XFT_ENC_CONST)
        ok = varint(&column->data, &column->previous);
    if (ok)
        return true;
    column->undecodable = true;
    column->encoding = XFT_ENC_CONST;
    column->previous = 0;
    return !known_column(column->id);
}

static bool read_directory(struct stream *stream, struct xfa_cursor *payload)
{
    struct xft_chunk *chunk = &stream->chunk;
    if (chunk->columns > MAX_COLUMNS || chunk->rows > XFA_MAX_ROWS ||
        chunk->first_seq > UINT64_MAX - chunk->rows)
        return false;
    struct xft_column entries[MAX_COLUMNS];
    if (!xfa_take(payload, entries, chunk->columns * sizeof *entries))
        return false;
    for (uint32_t i = 0; i < chunk->columns; i++) {
        struct column *column = &stream->columns[i];
        const char *data = xfa_take_bytes(payload, entries[i].bytes);
        if (!data)
            return false;
        *column = (struct column){.id = entries[i].id, .encoding = entries[i].encoding};
        column->base = directory_position(stream, i, entries[i].base);
        column->data.at = (const unsigned char *)data;
        column->data.end = column->data.at + entries[i].bytes;
        if (!column_usable(stream, i))
            return false;
    }
    return true;
}

static bool decode_block(struct stream *stream, size_t rows)
{
    memset(stream->events, 0, rows * sizeof *stream->events);
    for (uint32_t c = 0; c < stream->chunk.columns; c++) {
        if (!decode_rows(stream, c, rows))
            return false;
        scatter(stream->events, stream->columns[c].id, stream->values[c], rows);
    }
    return true;
}

static void chunk_events(struct stream *stream, struct xfa_cursor payload)
{
    struct xft_chunk *chunk = &stream->chunk;
    if (!xfa_take(&payload, chunk, sizeof *chunk) || !read_directory(stream, &payload)) {
        stream->trace->loss.bad_entries++;
        return;
    }
    uint32_t done = 0;
    while (done < chunk->rows) {
        uint32_t rows = chunk->rows - done < BLOCK_ROWS ? chunk->rows - done : BLOCK_ROWS;
        if (!decode_block(stream, rows))
            break;
        emit(stream, (struct xfa_batch){.lane = chunk->lane,
                                        .tid = chunk->tid,
                                        .first_seq = chunk->first_seq + done,
                                        .rows = rows,
                                        .events = stream->events});
        done += rows;
    }
    bad_rows(stream, chunk->rows - done);
    xfa_seen_add(&stream->seen, chunk->lane, chunk->first_seq, chunk->first_seq + done);
}

/* ---- slabs ---------------------------------------------------------------------------- */

/* Copies what both versions of the event have. */
static void slab_rows(struct stream *stream, const unsigned char *raw, size_t rows)
{
    size_t stride = stream->trace->header.event_bytes;
    size_t common = stride < sizeof(struct xft_event) ? stride : sizeof(struct xft_event);
    memset(stream->events, 0, rows * sizeof *stream->events);
    for (size_t i = 0; i < rows; i++)
        memcpy(&stream->events[i], raw + i * stride, common);
}

static void slab_events(struct stream *stream, const unsigned char *raw, size_t bytes)
{
    struct xft_slab slab;
    size_t stride = stream->trace->header.event_bytes;
    memcpy(&slab, raw, sizeof slab);
    if (slab.magic != XFT_SLAB_MAGIC || slab.state == XFT_SLAB_FREE)
        return;
    uint64_t room = (bytes - sizeof slab) / stride, rows = slab.committed;
    if (slab.state > XFT_SLAB_FULL || slab.first_seq > UINT64_MAX - rows) {
        stream->trace->loss.bad_entries++;
        return;
    }
    if (rows > room) {
        bad_rows(stream, rows - room);
        rows = room;
    }
    for (uint64_t done = 0; done < rows;) {
        size_t n = rows - done < BLOCK_ROWS ? rows - done : BLOCK_ROWS;
        slab_rows(stream, raw + sizeof slab + done * stride, n);
        emit(stream, (struct xfa_batch){.lane = slab.lane,
                                        .tid = slab.tid,
                                        .first_seq = slab.first_seq + done,
                                        .rows = n,
                                        .events = stream->events,
                                        .from_slab = true});
        done += n;
    }
    xfa_seen_add(&stream->seen, slab.lane, slab.first_seq, slab.first_seq + rows);
}

struct slab_place {
    uint64_t at;
    uint64_t first_seq;
};

static int by_sequence(const void *a, const void *b)
{
    const struct slab_place *x = a, *y = b;
    return (x->first_seq > y->first_seq) - (x->first_seq < y->first_seq);
}

/* The used slabs of all LANES segments, in the order of their sequence numbers. */
static struct slab_place *find_slabs(struct xfa_trace *trace, size_t *count)
{
    struct slab_place *places = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < trace->segment_count; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        if (segment->type != XFT_SEG_LANES)
            continue;
        uint64_t end = segment->at + segment->stored;
        for (uint64_t at = (segment->at + 4095) & ~(uint64_t)4095; at < end; at += XFT_SLAB_BYTES) {
            struct xft_slab slab;
            if (xfa_source_read(&trace->source, at, &slab, sizeof slab) < sizeof slab)
                break;
            if (slab.magic != XFT_SLAB_MAGIC || slab.state == XFT_SLAB_FREE)
                continue;
            places = xfa_room(places, &capacity, *count + 1, sizeof *places);
            places[(*count)++] = (struct slab_place){at, slab.first_seq};
        }
    }
    return places;
}

static void all_slabs(struct stream *stream)
{
    size_t count = 0;
    struct slab_place *places = find_slabs(stream->trace, &count);
    unsigned char *raw = count ? xfa_alloc(XFT_SLAB_BYTES) : NULL;
    if (count)
        qsort(places, count, sizeof *places, by_sequence);
    for (size_t i = 0; i < count; i++) {
        size_t got = xfa_source_read(&stream->trace->source, places[i].at, raw, XFT_SLAB_BYTES);
        if (got >= sizeof(struct xft_slab))
            slab_events(stream, raw, got);
    }
    free(raw);
    free(places);
}

void xfa_trace_events(struct xfa_trace *trace, xfa_batch_fn *fn, void *context)
{
    struct stream *stream = xfa_alloc(sizeof *stream);
    stream->trace = trace;
    stream->fn = fn;
    stream->context = context;
    xfa_seen_init(&stream->seen);
    trace->loss.bad_entries = trace->names_bad_entries;
    trace->loss.bad_rows = 0;
    trace->duplicate_events = 0;
    for (size_t i = 0; i < trace->segment_count; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        if (segment->type != XFT_SEG_EVENTS)
            continue;
        unsigned char *raw = xfa_segment_load(trace, segment);
        if (raw)
            chunk_events(stream, (struct xfa_cursor){raw, raw + segment->raw});
        else
            trace->loss.bad_entries++;
        free(raw);
    }
    all_slabs(stream);
    trace->loss.missing_events = xfa_seen_missing(&stream->seen);
    xfa_seen_free(&stream->seen);
    free(stream);
}
