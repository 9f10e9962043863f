#include "tests/analyzer/traces/attacks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "analyzer/read/read.h"
#include "preload/format/segments.h"

/* ---- rows that cost nothing ------------------------------------------------------------- */

enum { START = 1, END, BYTES, DST, SRC, STREAM, WIDTH, AUX, COUNT, STACK, CORRELATION };
enum { KIND = 18, DIRECTION, SRC_MEM, DST_MEM };

/* A column whose every row is `first`, or `step` more than the one before. */
struct column {
    unsigned id;
    uint64_t first;
    int64_t step;
};

static size_t put_varint(unsigned char *at, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        at[n++] = (unsigned char)(value | 0x80);
    at[n++] = (unsigned char)value;
    return n;
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static size_t put_column(unsigned char *at, const struct column *column)
{
    size_t n = put_varint(at, column->first);
    if (column->step) {
        n += put_varint(at + n, zigzag(column->step));
        at[n++] = 0; /* planes */
    }
    return n;
}

/* As many rows as the reader takes of a segment. */
static void put_rows(struct trace_builder *b, unsigned lane, uint64_t first_seq, uint32_t rows,
                     const struct column *columns, unsigned count)
{
    unsigned char bytes[1024];
    struct xft_chunk chunk = {
        .lane = lane, .tid = 9, .first_seq = first_seq, .rows = rows, .columns = count};
    size_t directory = sizeof chunk, data = directory + count * sizeof(struct xft_column);
    memcpy(bytes, &chunk, sizeof chunk);
    for (unsigned i = 0; i < count; i++) {
        size_t n = put_column(bytes + data, &columns[i]);
        struct xft_column head = {(uint16_t)columns[i].id, XFT_ENC_CONST, 0, (uint32_t)n};
        head.encoding = columns[i].step ? XFT_ENC_DELTA_PLANES : XFT_ENC_CONST;
        memcpy(bytes + directory, &head, sizeof head);
        directory += sizeof head;
        data += n;
    }
    build_plain_segment(b, XFT_SEG_EVENTS, 0, bytes, data, data);
}

#define ROWS(b, lane, seq, ...)                                                                    \
    put_rows(b, lane, seq, XFA_MAX_ROWS, (const struct column[]){__VA_ARGS__},                     \
             sizeof((const struct column[]){__VA_ARGS__}) / sizeof(struct column))

static void many_rows(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes; seq += 1 << 20)
        put_rows(b, 0, seq, 1 << 20, &(struct column){KIND, XFT_EVENT_TRANSFER, 0}, 1);
}

static void device_copies(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS)
        ROWS(b, 0, seq, {KIND, XFT_EVENT_DEVICE_COPY, 0}, {START, 1 + seq, 1}, {END, UINT64_MAX, 0},
             {BYTES, 1, 0}, {CORRELATION, 1, 0});
}

/* All copies have the id of all calls, and none fits. */
static void one_correlation(struct trace_builder *b, size_t bytes)
{
    device_copies(b, bytes / 2);
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS)
        ROWS(b, 1, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, 1u << 30, 1}, {END, 1u << 31, 0},
             {BYTES, 4096, 0}, {CORRELATION, 1, 0}, {DIRECTION, XFT_DIR_P2P, 0});
}

/* Ranges of the process that never end, all of one name. */
static void open_ranges(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes / 2; seq += XFA_MAX_ROWS)
        ROWS(b, 0, seq, {KIND, XFT_EVENT_RANGE_BEGIN, 0}, {START, 1, 1}, {DST, 1 + seq, 1});
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS)
        ROWS(b, 1, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, 1u << 30, 1}, {BYTES, 4096, 0});
}

/* Each lies before the one before it. */
static void contents(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS) {
        uint64_t start = 1 + seq, to = (UINT64_C(1) << 40) - 8192 * seq;
        ROWS(b, 0, seq, {KIND, XFT_EVENT_CONTENT, 0}, {START, start, 1}, {DST, to, -8192},
             {BYTES, 4096, 0}, {AUX, seq, 1}, {WIDTH, 4096, 0});
        ROWS(b, 1, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, start, 1}, {DST, to, -8192},
             {BYTES, 4096, 0}, {DIRECTION, XFT_DIR_H2D, 0});
    }
}

/* Memory that kernels and faults are looked up in. */
static void managed(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS) {
        ROWS(b, 0, seq, {KIND, XFT_EVENT_ALLOC, 0}, {START, 1 + seq, 1}, {DST, 4096, 0},
             {BYTES, 1u << 20, 0}, {DST_MEM, XFT_MEM_MANAGED, 0}, {STACK, 1 + seq, 1});
        ROWS(b, 1, seq, {KIND, XFT_EVENT_KERNEL, 0}, {START, 1 + seq, 1}, {SRC, 1 + seq, 1});
        ROWS(b, 2, seq, {KIND, XFT_EVENT_FAULT, 0}, {START, 1 + seq, 1}, {SRC, 8192, 0},
             {COUNT, 1, 0});
    }
}

/* Every transfer from a place of its own. */
static void classes(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 0; b->size < bytes; seq += XFA_MAX_ROWS)
        ROWS(b, 0, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, 1, 1}, {BYTES, 4096, 0},
             {STACK, 1 + seq, 1});
}

/* ---- sequence numbers and lanes --------------------------------------------------------- */

/* Every second number, from the last to the first. */
static void backwards(struct trace_builder *b, size_t bytes)
{
    for (uint64_t seq = 1u << 30; b->size < bytes; seq -= 2)
        put_rows(b, 0, seq, 1, &(struct column){KIND, XFT_EVENT_SYNC, 0}, 1);
}

static void lanes(struct trace_builder *b, size_t bytes)
{
    for (unsigned lane = 0; b->size < bytes; lane++)
        put_rows(b, lane, 0, 1, &(struct column){KIND, XFT_EVENT_RANGE_BEGIN, 0}, 1);
}

/* All lanes at once. */
static void overlapping(struct trace_builder *b, size_t bytes)
{
    for (unsigned lane = 0; b->size < bytes; lane++)
        ROWS(b, lane, 0, {KIND, XFT_EVENT_SYNC, 0}, {START, 1, 1000});
}

/* ---- frames that hold more than they are long ------------------------------------------- */

static void put_packed(struct trace_builder *b, unsigned type, const void *raw, size_t bytes)
{
    size_t bound = ZSTD_compressBound(bytes);
    unsigned char *packed = malloc(bound);
    size_t stored = packed ? ZSTD_compress(packed, bound, raw, bytes, 3) : 0;
    if (stored == 0 || ZSTD_isError(stored))
        abort();
    build_plain_segment(b, type, XFT_SEG_ZSTD, packed, stored, bytes);
    free(packed);
}

static void zeros(struct trace_builder *b, unsigned type, size_t raw, size_t bytes)
{
    unsigned char *none = calloc(1, raw);
    struct trace_builder one = {0};
    if (!none)
        abort();
    put_packed(&one, type, none, raw);
    while (b->size + one.size <= bytes) {
        build_plain_segment(b, XFT_SEG_PAD, 0, NULL, 0, 0);
        struct xft_segment head;
        memcpy(&head, one.bytes, sizeof head);
        build_plain_segment(b, type, XFT_SEG_ZSTD, one.bytes + sizeof head, head.stored_bytes, raw);
    }
    free(one.bytes);
    free(none);
}

static void packed_stacks(struct trace_builder *b, size_t bytes)
{
    zeros(b, XFT_SEG_STACKS, 40u << 20, bytes);
}

static void packed_events(struct trace_builder *b, size_t bytes)
{
    zeros(b, XFT_SEG_EVENTS, 40u << 20, bytes);
}

static void packed_index(struct trace_builder *b, size_t bytes)
{
    zeros(b, XFT_SEG_INDEX, 40u << 20, bytes);
}

/* The text of one pair, which the report shows. */
static void packed_meta(struct trace_builder *b, size_t bytes)
{
    size_t raw = 40u << 20;
    char *pair = calloc(1, raw);
    (void)bytes;
    if (!pair)
        abort();
    memset(pair, 'x', raw - 1);
    memcpy(pair, "exe", 4);
    put_packed(b, XFT_SEG_META, pair, raw);
    free(pair);
}

static void packed_modules(struct trace_builder *b, size_t bytes)
{
    size_t raw = 40u << 20;
    struct xft_module module = {.start = 1, .end = 2};
    char *entry = calloc(1, raw);
    (void)bytes;
    if (!entry)
        abort();
    module.path_bytes = (uint32_t)((raw - sizeof module) / 2);
    module.build_id_bytes = module.path_bytes;
    memcpy(entry, &module, sizeof module);
    put_packed(b, XFT_SEG_MODULES, entry, raw);
    free(entry);
}

/* ---- names ------------------------------------------------------------------------------ */

#define PLACE 0x400100

static void stacks_of(struct trace_builder *b, unsigned count, unsigned depth)
{
    size_t entry = sizeof(struct xft_stack) + depth * sizeof(uint64_t);
    unsigned char *raw = calloc(count, entry);
    if (!raw)
        abort();
    for (unsigned i = 0; i < count; i++) {
        struct xft_stack stack = {i + 1, depth};
        memcpy(raw + i * entry, &stack, sizeof stack);
        for (unsigned k = 0; k < depth; k++) {
            uint64_t address = PLACE + k;
            memcpy(raw + i * entry + sizeof stack + k * sizeof address, &address, sizeof address);
        }
    }
    put_packed(b, XFT_SEG_STACKS, raw, count * entry);
    free(raw);
}

/* `same`: all of them for one address. */
static void symbols_of(struct trace_builder *b, unsigned count, bool same, const char *function,
                       const char *module)
{
    struct xft_symbol symbol = {.line = 0};
    symbol.function_bytes = (uint32_t)strlen(function);
    symbol.module_bytes = (uint32_t)strlen(module);
    size_t entry = sizeof symbol + symbol.function_bytes + symbol.module_bytes;
    unsigned char *raw = calloc(count, entry);
    if (!raw)
        abort();
    for (unsigned i = 0; i < count; i++) {
        symbol.address = same ? PLACE : PLACE + i;
        symbol.line = i * 2654435761u; /* or it would unfold further than readers let it */
        memcpy(raw + i * entry, &symbol, sizeof symbol);
        memcpy(raw + i * entry + sizeof symbol, function, symbol.function_bytes);
        memcpy(raw + i * entry + sizeof symbol + symbol.function_bytes, module,
               symbol.module_bytes);
    }
    put_packed(b, XFT_SEG_SYMBOLS, raw, count * entry);
    free(raw);
}

/* An address of very many inlined functions, in every stack. */
static void one_address(struct trace_builder *b, size_t bytes)
{
    (void)bytes;
    symbols_of(b, 1u << 15, true, "", "");
    stacks_of(b, 16384, 16);
    for (uint64_t seq = 0; seq < 16384; seq += XFA_MAX_ROWS)
        ROWS(b, 0, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, 1, 1}, {BYTES, 4096, 0},
             {STACK, 1 + seq, 1});
}

/* Every frame is the runtime's, whose functions are sought among all calls. */
static void many_calls(struct trace_builder *b, size_t bytes)
{
    enum { CALLS = 65536, ENTRY = sizeof(struct xft_call_name) + 20 };
    unsigned char *raw = calloc(CALLS, ENTRY);
    (void)bytes;
    if (!raw)
        abort();
    for (unsigned i = 0; i < CALLS; i++) {
        struct xft_call_name call = {(uint16_t)i, XFT_LEVEL_RUNTIME, 20};
        memcpy(raw + i * ENTRY, &call, sizeof call);
        memset(raw + i * ENTRY + sizeof call, 'a', 20);
    }
    put_packed(b, XFT_SEG_CALLS, raw, CALLS * (size_t)ENTRY);
    free(raw);
    symbols_of(b, 256, false, "aaaaaaaaaaaaaaaaaaab", "/usr/lib/libcudart.so.13");
    stacks_of(b, 16384, 200);
    for (uint64_t seq = 0; seq < 16384; seq += XFA_MAX_ROWS)
        ROWS(b, 0, seq, {KIND, XFT_EVENT_TRANSFER, 0}, {START, 1, 1}, {BYTES, 4096, 0},
             {STACK, 1 + seq, 1});
}

/* ---- segments --------------------------------------------------------------------------- */

/* A sound header behind every bit of damage. */
static void scattered(struct trace_builder *b, size_t bytes)
{
    while (b->size < bytes) {
        size_t at = b->size;
        build_plain_segment(b, XFT_SEG_PAD, 0, NULL, 0, 0);
        build_plain_segment(b, XFT_SEG_PAD, 0, NULL, 0, 0);
        memset(b->bytes + at, 0xaa, sizeof(struct xft_segment));
    }
}

/* ---- all of them ------------------------------------------------------------------------ */

const struct attack attacks[] = {
    {"many-rows", many_rows},
    {"device-copies", device_copies},
    {"one-correlation", one_correlation},
    {"open-ranges", open_ranges},
    {"contents", contents},
    {"managed", managed},
    {"classes", classes},
    {"backwards", backwards},
    {"lanes", lanes},
    {"overlapping", overlapping},
    {"packed-stacks", packed_stacks},
    {"packed-events", packed_events},
    {"packed-index", packed_index},
    {"packed-meta", packed_meta},
    {"packed-modules", packed_modules},
    {"one-address", one_address},
    {"many-calls", many_calls},
    {"scattered", scattered},
};
const size_t attack_count = sizeof attacks / sizeof *attacks;

bool build_attack(struct trace_builder *b, const char *name, size_t bytes)
{
    for (size_t i = 0; i < attack_count; i++) {
        if (strcmp(attacks[i].name, name) != 0)
            continue;
        build_start(b, 66);
        build_meta(b, "exe", "x");
        attacks[i].fill(b, bytes);
        build_close(b, XFT_STATE_RECORDING, 0);
        return true;
    }
    return false;
}

/* ---- holes ------------------------------------------------------------------------------ */

static void write_at(int fd, uint64_t at, const void *bytes, size_t n)
{
    if (pwrite(fd, bytes, n, (off_t)at) != (ssize_t)n)
        abort();
}

/* Segments whose payload is a hole, of `each` bytes, up to the end. */
static void put_holes(int fd, uint64_t at, uint64_t end, enum sparse how)
{
    uint64_t each = how == SPARSE_LANES ? end : how == SPARSE_ROOM ? UINT64_C(1) << 36 : 40u << 20;
    for (unsigned n = 0; at + each < end && n < 1000; n++) {
        unsigned type = how == SPARSE_ROOM ? XFT_SEG_ROOM : XFT_SEG_EVENTS;
        struct xft_segment head = xft_segment_make(type, 0, NULL, each, each);
        struct xft_room room = {.committed = each - sizeof room};
        write_at(fd, at, &head, sizeof head);
        if (how == SPARSE_ROOM)
            write_at(fd, at + sizeof head, &room, sizeof room);
        at += xft_segment_span(each);
    }
}

void make_sparse(const char *path, enum sparse how, uint64_t bytes)
{
    struct trace_builder b;
    build_start(&b, 66);
    build_meta(&b, "exe", "x");
    size_t end = b.size;
    if (how == SPARSE_LANES) {
        uint64_t stored = bytes - b.size - 2 * sizeof(struct xft_segment);
        build_plain_segment(&b, XFT_SEG_PAD, 0, NULL, 0, 0);
        struct xft_segment head = xft_segment_make(XFT_SEG_LANES, 0, NULL, stored, stored);
        memcpy(b.bytes + end, &head, sizeof head);
    }
    build_close(&b, XFT_STATE_RECORDING, 0);
    build_save(&b, path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        abort();
    if (how == SPARSE_PLAIN || how == SPARSE_ROOM)
        put_holes(fd, end, bytes, how);
    close(fd);
    build_free(&b);
}
