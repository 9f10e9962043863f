#include "encode.h"

#include <stdbool.h>
#include <string.h>

#define VARINT_BYTES 10

struct field {
    uint16_t id;
    uint8_t size;
    uint16_t offset;
    bool is_signed;
};

#define IS_SIGNED(value) _Generic((value), int32_t : true, int16_t : true, default : false)
#define FIELD_ROW(number, name)                                                                    \
    {number, sizeof(((struct xft_event *)0)->name), offsetof(struct xft_event, name),              \
     IS_SIGNED(((struct xft_event *)0)->name)},
static const struct field fields[] = {XFT_COLUMN_LIST(FIELD_ROW)};
#define FIELDS (sizeof fields / sizeof *fields)

#define ENUM_ROW(number, name) COLUMN_##name = number,
enum column { XFT_COLUMN_LIST(ENUM_ROW) COLUMN_END };
_Static_assert(COLUMN_END == FIELDS + 1, "fields[id - 1] is the row of column id");

/* A call ends soon after it starts, and most transfers are one row. */
static unsigned base_of(unsigned id)
{
    switch (id) {
    case COLUMN_end_ns:
        return COLUMN_start_ns;
    case COLUMN_width:
        return COLUMN_bytes;
    default:
        return 0;
    }
}

static uint64_t load(const struct xft_event *event, const struct field *field)
{
    const unsigned char *at = (const unsigned char *)event + field->offset;
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    switch (field->size) {
    case 1:
        return *at;
    case 2:
        memcpy(&v16, at, sizeof v16);
        return field->is_signed ? (uint64_t)(int64_t)(int16_t)v16 : v16;
    case 4:
        memcpy(&v32, at, sizeof v32);
        return field->is_signed ? (uint64_t)(int64_t)(int32_t)v32 : v32;
    default:
        memcpy(&v64, at, sizeof v64);
        return v64;
    }
}

static uint64_t zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static unsigned varint_bytes(uint64_t value)
{
    return (unsigned)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

struct plan {
    enum xft_encoding encoding;
    const struct field *base;
    bool absent;
};

static struct plan choose(const struct xft_event *events, uint32_t rows, const struct field *field)
{
    unsigned base_id = base_of(field->id);
    const struct field *base = base_id ? &fields[base_id - 1] : NULL;
    uint64_t first = load(&events[0], field), before = 0;
    size_t plain = 0, delta = 0, diff = 0;
    bool constant = true;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = load(&events[i], field);
        constant = constant && value == first;
        plain += varint_bytes(value);
        delta += varint_bytes(zigzag(value - before));
        if (base)
            diff += varint_bytes(zigzag(value - load(&events[i], base)));
        before = value;
    }
    if (constant)
        return (struct plan){XFT_ENC_CONST, NULL, first == 0};
    if (base && diff <= plain && diff <= delta)
        return (struct plan){XFT_ENC_DIFF, base, false};
    return (struct plan){delta < plain ? XFT_ENC_DELTA : XFT_ENC_VARINT, NULL, false};
}

static unsigned char *put_column(unsigned char *at, const struct xft_event *events, uint32_t rows,
                                 const struct field *field, const struct plan *plan)
{
    uint64_t before = 0;
    if (plan->encoding == XFT_ENC_CONST)
        return put_varint(at, load(&events[0], field));
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = load(&events[i], field);
        if (plan->encoding == XFT_ENC_DELTA)
            at = put_varint(at, zigzag(value - before));
        else if (plan->encoding == XFT_ENC_DIFF)
            at = put_varint(at, zigzag(value - load(&events[i], plan->base)));
        else
            at = put_varint(at, value);
        before = value;
    }
    return at;
}

size_t xft_encode_bound(uint32_t rows)
{
    return sizeof(struct xft_chunk) +
           FIELDS * (sizeof(struct xft_column) + VARINT_BYTES * (size_t)(rows ? rows : 1));
}

size_t xft_encode_events(const struct xft_chunk *chunk, const struct xft_event *events, void *out,
                         size_t capacity)
{
    if (capacity < xft_encode_bound(chunk->rows))
        return 0;
    struct plan plans[FIELDS];
    struct xft_chunk head = *chunk;
    head.columns = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        plans[i] = (struct plan){.absent = true};
        if (chunk->rows)
            plans[i] = choose(events, chunk->rows, &fields[i]);
        head.columns += !plans[i].absent;
    }
    unsigned char *start = out, *entry = start + sizeof head;
    unsigned char *at = entry + head.columns * sizeof(struct xft_column);
    memcpy(start, &head, sizeof head);
    for (size_t i = 0; i < FIELDS; i++) {
        if (plans[i].absent)
            continue;
        unsigned char *end = put_column(at, events, chunk->rows, &fields[i], &plans[i]);
        struct xft_column column = {
            .id = fields[i].id,
            .encoding = (uint8_t)plans[i].encoding,
            .base = plans[i].base ? (uint8_t)plans[i].base->id : 0,
            .bytes = (uint32_t)(end - at),
        };
        memcpy(entry, &column, sizeof column);
        entry += sizeof column;
        at = end;
    }
    return (size_t)(at - start);
}
