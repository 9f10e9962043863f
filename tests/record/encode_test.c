/* Events to EVENTS segments and back, and the damage a walk over segments must survive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/record/decode.h"
#include "preload/format/encode.h"
#include "preload/format/pack.h"
#include "preload/format/segments.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static struct xft_cuts cuts;

static size_t encode(const struct xft_chunk *chunk, const struct xft_event *events, void *raw,
                     size_t room)
{
    struct xft_encode_workspace *workspace = malloc(xft_encode_workspace_bytes());
    assert_non_null(workspace);
    memset(workspace, 0xa5, xft_encode_workspace_bytes());
    size_t n = xft_encode_events(workspace, chunk, events, raw, room, &cuts);
    free(workspace);
    return n;
}

static void check_round_trip(const struct xft_event *events, uint32_t rows)
{
    struct xft_chunk chunk = {.lane = 7, .tid = -3, .first_seq = 1u << 31, .rows = rows}, back;
    size_t room = xft_encode_bound(rows);
    unsigned char *raw = malloc(room);
    struct xft_event *decoded = malloc((rows + 1) * sizeof *decoded);
    size_t n = encode(&chunk, events, raw, room);
    assert_true(n > 0 && n <= room);
    assert_true(decode_chunk(raw, n, &back, decoded, rows));
    assert_int_equal(back.lane, 7);
    assert_int_equal(back.tid, -3);
    assert_true(back.first_seq == 1u << 31);
    assert_int_equal(back.rows, rows);
    assert_memory_equal(decoded, events, rows * sizeof *events);
    free(decoded);
    free(raw);
}

static void fill_random(struct xft_event *event, uint64_t mask)
{
    unsigned char *at = (unsigned char *)event;
    for (size_t i = 0; i < sizeof *event; i += 8) {
        uint64_t bits = random_bits() & mask;
        memcpy(at + i, &bits, 8);
    }
    memset(event->reserved, 0, sizeof event->reserved);
}

static void test_any_values(void **state)
{
    (void)state;
    static const uint64_t masks[] = {UINT64_MAX, 0xff, 0xffff0000ffff0000u, 0x8000000000000000u, 0};
    struct xft_event events[500];
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t i = 0; i < 500; i++)
            fill_random(&events[i], masks[m]);
        check_round_trip(events, 500);
    }
}

static void test_extremes(void **state)
{
    (void)state;
    struct xft_event events[4];
    memset(events, 0, sizeof events);
    memset(&events[1], 0xff, sizeof events[1]);
    memset(events[1].reserved, 0, sizeof events[1].reserved);
    events[2].status = INT32_MIN;
    events[2].src_place = INT16_MIN;
    events[2].start_ns = UINT64_MAX;
    events[3].status = INT32_MAX;
    events[3].end_ns = UINT64_MAX / 2;
    check_round_trip(events, 4);
    for (uint32_t rows = 0; rows <= 4; rows++)
        check_round_trip(events + (rows == 1), rows);
}

/* Directory entry of a column in a payload; all zero when it has none. */
static struct xft_column entry_of(const unsigned char *raw, unsigned id)
{
    struct xft_chunk chunk;
    memcpy(&chunk, raw, sizeof chunk);
    for (uint32_t i = 0; i < chunk.columns; i++) {
        struct xft_column column;
        memcpy(&column, raw + sizeof chunk + i * sizeof column, sizeof column);
        if (column.id == id)
            return column;
    }
    return (struct xft_column){0};
}

static void test_each_encoding(void **state)
{
    (void)state;
    static struct xft_event events[2000];
    static unsigned char raw[1 << 20];
    memset(events, 0, sizeof events);
    for (uint32_t i = 0; i < 2000; i++) {
        unsigned site = (unsigned)(random_bits() % 300);
        events[i].start_ns = 1000000000000u + i * 1000u;     /* evenly spaced */
        events[i].end_ns = events[i].start_ns + 100 + i % 7; /* near the start */
        events[i].bytes = random_bits() % 100000;            /* anything */
        events[i].width = events[i].bytes;                   /* equals bytes */
        events[i].stack = site;                              /* few, but over 256 */
        events[i].call = (uint16_t)(site % 7);               /* follows from the stack */
        events[i].device = -1;                               /* constant */
    }
    check_round_trip(events, 2000);
    struct xft_chunk chunk = {.rows = 2000};
    assert_true(encode(&chunk, events, raw, sizeof raw) > 0);
    const uint16_t expected[][4] = {
        /* column, encoding, base, bytes at most */
        {1, XFT_ENC_DELTA_PLANES, 0, 16}, {2, XFT_ENC_DIFF_PLANES, 1, 2008},
        {3, XFT_ENC_PLANES, 0, 6016},     {7, XFT_ENC_DIFF_PLANES, 3, 2},
        {10, XFT_ENC_DICT, 0, 5000},      {13, XFT_ENC_MAP, 10, 300},
        {17, XFT_ENC_CONST, 0, 10},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct xft_column column = entry_of(raw, expected[i][0]);
        assert_int_equal(column.encoding, expected[i][1]);
        assert_int_equal(column.base, expected[i][2]);
        assert_in_range(column.bytes, 1, expected[i][3]);
    }
    assert_int_equal(entry_of(raw, 4).bytes, 0); /* dst: 0 everywhere, left out */
}

/* Dictionaries at their limits, and rows that are no longer few. */
static void test_many_values(void **state)
{
    (void)state;
    static struct xft_event events[XFT_SLAB_EVENTS];
    static const unsigned distinct[] = {1, 2, 255, 256, 257, 682, 683, 1024, 1025, 2730};
    for (size_t d = 0; d < sizeof distinct / sizeof *distinct; d++) {
        memset(events, 0, sizeof events);
        for (uint32_t i = 0; i < XFT_SLAB_EVENTS; i++) {
            events[i].src = (i % distinct[d]) * 0x123456789abcdefu;
            events[i].status = (int32_t)(i % distinct[d] % 5) - 2;
        }
        check_round_trip(events, XFT_SLAB_EVENTS);
    }
}

static void test_short_buffer(void **state)
{
    (void)state;
    struct xft_event event = {.bytes = 1};
    struct xft_chunk chunk = {.rows = 1};
    unsigned char raw[1024];
    assert_int_equal(encode(&chunk, &event, raw, xft_encode_bound(1) - 1), 0);
}

/* Ten call sites of a training loop: times jitter, addresses and sizes repeat. */
static void fill_transfer(struct xft_event *event, uint64_t *now, uint64_t i)
{
    unsigned site = (unsigned)(random_bits() % 10);
    *event = (struct xft_event){
        .start_ns = *now,
        .end_ns = *now + 2000 + random_bits() % 3000,
        .bytes = 4096u << site,
        .dst = 0x7f0000000000u + site * 0x10000000u + (i % 8) * 0x200000u,
        .src = 0x550000000000u + site * 0x1000000u,
        .stream = 0x5555000u + site % 3 * 0x100,
        .width = 4096u << site,
        .count = 1,
        .stack = site + 1,
        .correlation = (uint32_t)i * 3,
        .call = (uint16_t)(site % 4),
        .flags = XFT_ASYNC | XFT_STREAM_KNOWN,
        .dst_mem = XFT_MEM_DEVICE,
        .src_mem = site % 2 ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED,
        .direction = XFT_DIR_H2D,
        .kind = XFT_EVENT_TRANSFER,
    };
    *now = event->end_ns + 500 + random_bits() % 20000;
}

static void test_million_transfers(void **state)
{
    (void)state;
    static struct xft_event events[XFT_SLAB_EVENTS];
    struct xft_packer packer;
    assert_true(xft_packer_init(&packer, &xft_linked_zstd));
    size_t room = xft_pack_events_bound(&packer), total = 0, first = 0;
    unsigned char *out = malloc(room);
    uint64_t now = 123456789012345u, done = 0;
    while (done < 1000000) {
        struct xft_chunk chunk = {.lane = 1, .tid = 1, .first_seq = done};
        for (; chunk.rows < XFT_SLAB_EVENTS && done < 1000000; chunk.rows++, done++)
            fill_transfer(&events[chunk.rows], &now, done);
        size_t n = xft_pack_events(&packer, &chunk, events, out, room);
        assert_true(n > 0);
        total += n;
        first = first ? first : n;
    }
    printf("%.2f bytes per transfer\n", (double)total / 1e6);
    assert_true(total <= 5000000); /* 29 bits of it cannot be foreseen: 3.65 bytes */
    assert_true(first > 1000);     /* something was written at all */
    free(out);
    xft_packer_free(&packer);
}

/* zstd absent: the same segments, stored. */
static void test_without_zstd(void **state)
{
    (void)state;
    struct xft_packer packer;
    struct xft_event events[3] = {{.bytes = 1}, {.bytes = 2}, {.bytes = 3}}, back[3];
    struct xft_chunk chunk = {.rows = 3}, read;
    assert_true(xft_packer_init(&packer, NULL));
    size_t room = xft_pack_events_bound(&packer);
    unsigned char *out = malloc(room);
    size_t n = xft_pack_events(&packer, &chunk, events, out, room);
    struct xft_walk walk = {.file = out, .size = n};
    struct xft_view view;
    assert_true(xft_walk_next(&walk, &view));
    assert_int_equal(view.head.flags, 0);
    assert_true(decode_chunk(view.payload, view.head.stored_bytes, &read, back, 3));
    assert_memory_equal(back, events, sizeof events);
    free(out);
    xft_packer_free(&packer);
}

/* Three META segments, the middle one damaged in every byte in turn: the others are always found.
 */
static void test_damage(void **state)
{
    (void)state;
    struct xft_packer packer;
    unsigned char file[1024];
    size_t size = 0, start[4];
    assert_true(xft_packer_init(&packer, NULL));
    for (size_t i = 0; i < 3; i++) {
        start[i] = size;
        size += xft_pack(&packer, XFT_SEG_META, "key\0value", 10, file + size, sizeof file - size);
    }
    start[3] = size;
    for (size_t at = start[1]; at < start[1] + sizeof(struct xft_segment) + 10; at++) {
        struct xft_view view;
        struct xft_walk walk = {.file = file, .size = size};
        size_t found = 0;
        file[at] ^= 0x20;
        while (xft_walk_next(&walk, &view)) {
            assert_true(view.offset == start[0] || view.offset == start[2]);
            found++;
        }
        file[at] ^= 0x20;
        assert_int_equal(found, 2);
        assert_true(walk.damage.places > 0);
    }
    xft_packer_free(&packer);
}

static void test_cut(void **state)
{
    (void)state;
    struct xft_packer packer;
    unsigned char file[256];
    assert_true(xft_packer_init(&packer, NULL));
    size_t size = xft_pack(&packer, XFT_SEG_META, "key\0value", 10, file, sizeof file);
    for (size_t n = 0; n + 6 < size; n++) { /* the last 6 bytes are padding */
        struct xft_view view;
        struct xft_walk walk = {.file = file, .size = n};
        assert_false(xft_walk_next(&walk, &view));
    }
    xft_packer_free(&packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_values),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_each_encoding), cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_short_buffer),  cmocka_unit_test(test_million_transfers),
        cmocka_unit_test(test_without_zstd),  cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
