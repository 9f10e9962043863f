#include "preload/format/index.h"

#include <string.h>

#include "preload/format/segments.h"

_Static_assert(XFT_INDEX_SPAN % 8 == 0, "the next segment follows at once");

struct xft_index_entry xft_index_of(const struct xft_chunk *chunk, const struct xft_event *events)
{
    struct xft_index_entry entry = {
        .lane = chunk->lane, .first_seq = chunk->first_seq, .rows = chunk->rows};
    entry.first_ns = chunk->rows ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        uint64_t at = events[i].start_ns;
        entry.first_ns = at < entry.first_ns ? at : entry.first_ns;
        entry.last_ns = at > entry.last_ns ? at : entry.last_ns;
    }
    return entry;
}

/* ---- start_ns from its column ------------------------------------------------------------- */

struct times {
    const unsigned char *at, *end;
    uint64_t value; /* of the row before */
    struct xft_index_entry *entry;
};

static bool varint(struct times *times, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && times->at < times->end; shift += 7) {
        unsigned char byte = *times->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static void take(struct times *times, uint64_t value)
{
    struct xft_index_entry *entry = times->entry;
    times->value = value;
    entry->first_ns = value < entry->first_ns ? value : entry->first_ns;
    entry->last_ns = value > entry->last_ns ? value : entry->last_ns;
}

static bool take_planes(struct times *times, bool delta)
{
    uint64_t first = 0, least;
    uint32_t rows = times->entry->rows;
    if ((delta && !varint(times, &first)) || !varint(times, &least) || times->at == times->end)
        return false;
    least = unzigzag(least);
    unsigned planes = *times->at++;
    if (planes > 8 || (size_t)(times->end - times->at) < (size_t)planes * rows)
        return false;
    times->value = first - least; /* the first row differs by nothing */
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = least + (delta ? times->value : 0);
        for (unsigned plane = 0; plane < planes; plane++)
            value += (uint64_t)times->at[(size_t)plane * rows + i] << 8 * plane;
        take(times, value);
    }
    return true;
}

static bool take_varints(struct times *times, bool delta)
{
    uint64_t value;
    for (uint32_t i = 0; i < times->entry->rows; i++) {
        if (!varint(times, &value))
            return false;
        take(times, delta ? times->value + unzigzag(value) : value);
    }
    return true;
}

static bool take_column(struct times *times, enum xft_encoding encoding)
{
    uint64_t value;
    switch (encoding) {
    case XFT_ENC_CONST:
        if (!varint(times, &value))
            return false;
        take(times, value);
        return true;
    case XFT_ENC_VARINT:
    case XFT_ENC_DELTA:
        return take_varints(times, encoding == XFT_ENC_DELTA);
    case XFT_ENC_PLANES:
    case XFT_ENC_DELTA_PLANES:
        return take_planes(times, encoding == XFT_ENC_DELTA_PLANES);
    default:
        return false;
    }
}

bool xft_index_read(const void *payload, size_t bytes, struct xft_index_entry *entry)
{
    enum { START_NS = 1 };
    const unsigned char *at = payload, *end = at + bytes;
    struct xft_chunk chunk;
    struct xft_column column;
    if (bytes < sizeof chunk)
        return false;
    memcpy(&chunk, at, sizeof chunk);
    at += sizeof chunk;
    if (chunk.rows == 0 || chunk.columns > (size_t)(end - at) / sizeof column)
        return false;
    *entry = (struct xft_index_entry){.lane = chunk.lane,
                                      .first_seq = chunk.first_seq,
                                      .rows = chunk.rows,
                                      .first_ns = UINT64_MAX};
    struct times times = {.at = at + chunk.columns * sizeof column, .entry = entry};
    for (uint32_t i = 0; i < chunk.columns; i++, at += sizeof column) {
        memcpy(&column, at, sizeof column);
        if (column.bytes > (size_t)(end - times.at))
            return false;
        times.end = times.at + column.bytes;
        if (column.id == START_NS)
            return take_column(&times, (enum xft_encoding)column.encoding);
        times.at = times.end;
    }
    entry->first_ns = 0; /* it was 0 in every row */
    return true;
}

void xft_index_pack(const struct xft_index_entry *entry, unsigned char out[XFT_INDEX_SPAN])
{
    struct xft_segment head =
        xft_segment_make(XFT_SEG_INDEX, 0, entry, sizeof *entry, sizeof *entry);
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, entry, sizeof *entry);
}
