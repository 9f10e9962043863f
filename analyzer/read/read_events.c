/* Events: columns of compressed segments, and slabs the recorder had not compressed yet. */
#include "analyzer/read/read.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/read/read_columns.h"
#include "analyzer/read/seen.h"

struct stream {
    struct xfa_trace *trace;
    struct xfa_seen seen;
    xfa_batch_fn *fn;
    void *context;
    struct xft_chunk chunk;
    struct xfa_columns columns;
    struct xfa_block block;
    struct xft_event events[XFA_BLOCK_ROWS];
    unsigned char *raw; /* payload of a segment */
    size_t raw_room;
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

static void chunk_events(struct stream *stream, struct xfa_cursor payload)
{
    struct xft_chunk *chunk = &stream->chunk;
    if (!xfa_columns_open(&stream->columns, chunk, &payload)) {
        stream->trace->loss.bad_entries++;
        return;
    }
    uint32_t done = 0;
    while (done < chunk->rows) {
        uint32_t rows = chunk->rows - done < XFA_BLOCK_ROWS ? chunk->rows - done : XFA_BLOCK_ROWS;
        if (!xfa_columns_next(&stream->columns, &stream->block, stream->events, rows))
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

/* Of `bytes` in the file: fewer than a slab has where the file ends. */
static void slab_events(struct stream *stream, const unsigned char *raw, size_t bytes)
{
    struct xft_slab slab;
    size_t stride = stream->trace->header.event_bytes;
    memcpy(&slab, raw, sizeof slab);
    if (xfa_slab_worth(stream->trace, &slab) != XFA_SLAB_SOUND)
        return;
    uint64_t room = (bytes - sizeof slab) / stride, rows = slab.committed;
    if (rows > room) {
        bad_rows(stream, rows - room);
        rows = room;
    }
    for (uint64_t done = 0; done < rows;) {
        size_t n = rows - done < XFA_BLOCK_ROWS ? rows - done : XFA_BLOCK_ROWS;
        xfa_slab_rows(stream->trace, raw + sizeof slab + done * stride, n, stream->events);
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

static int by_sequence(const void *a, const void *b)
{
    const struct xfa_slab_place *x = a, *y = b;
    return (x->first_seq > y->first_seq) - (x->first_seq < y->first_seq);
}

static void all_slabs(struct stream *stream)
{
    size_t count = 0;
    struct xfa_slab_place *places = xfa_slabs_find(stream->trace, &count);
    unsigned char *raw = count ? xfa_alloc(XFT_SLAB_BYTES) : NULL;
    if (count)
        qsort(places, count, sizeof *places, by_sequence);
    for (size_t i = 0; i < count; i++) {
        size_t got = xfa_source_read(&stream->trace->source, places[i].at, raw, places[i].bytes);
        if (got >= sizeof(struct xft_slab))
            slab_events(stream, raw, got);
    }
    free(raw);
    free(places);
}

void xfa_trace_reset(struct xfa_trace *trace)
{
    trace->loss.bad_entries = trace->names_bad_entries;
    trace->loss.bad_rows = trace->header.damaged_events;
    trace->duplicate_events = 0;
}

void xfa_trace_events(struct xfa_trace *trace, xfa_batch_fn *fn, void *context)
{
    struct stream *stream = xfa_alloc(sizeof *stream);
    stream->trace = trace;
    stream->fn = fn;
    stream->context = context;
    xfa_seen_init(&stream->seen);
    xfa_trace_reset(trace);
    for (size_t i = 0; i < trace->segment_count; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        if (segment->type != XFT_SEG_EVENTS)
            continue;
        stream->raw = xfa_room(stream->raw, &stream->raw_room, segment->raw + 1, 1);
        if (xfa_segment_unpack(trace, segment, stream->raw))
            chunk_events(stream, (struct xfa_cursor){stream->raw, stream->raw + segment->raw});
        else
            trace->loss.bad_entries++;
    }
    all_slabs(stream);
    trace->loss.missing_events = xfa_seen_missing(&stream->seen);
    xfa_seen_free(&stream->seen);
    xfa_trace_rest(trace);
    xfa_columns_free(&stream->columns);
    free(stream->raw);
    free(stream);
}
