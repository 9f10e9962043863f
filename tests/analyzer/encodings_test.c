/* The reader: every encoding, as it is and malformed; frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "analyzer/read/read.h"
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/gather.h"
#include "tests/analyzer/traces/scenario.h"

/* ---- chunks written by hand ----------------------------------------------------------- */

struct hand {
    unsigned char bytes[4096];
    size_t size;
};

static void put(struct hand *hand, const void *bytes, size_t n)
{
    assert_true(hand->size + n <= sizeof hand->bytes);
    memcpy(hand->bytes + hand->size, bytes, n);
    hand->size += n;
}

static void put_chunk(struct hand *hand, unsigned rows, unsigned columns)
{
    struct xft_chunk chunk = {.lane = 1, .tid = 9, .rows = rows, .columns = columns};
    put(hand, &chunk, sizeof chunk);
}

static void put_column(struct hand *hand, unsigned id, unsigned encoding, unsigned base,
                       unsigned bytes)
{
    struct xft_column column = {(uint16_t)id, (uint8_t)encoding, (uint8_t)base, bytes};
    put(hand, &column, sizeof column);
}

static struct xfa_trace *hand_trace(struct trace_builder *b, const struct hand *hand)
{
    build_start(b, 7);
    build_meta(b, "exe", "x");
    build_plain_segment(b, XFT_SEG_EVENTS, 0, hand->bytes, hand->size, hand->size);
    build_close(b, XFT_STATE_CLOSED, 1);
    return open_built(b);
}

enum { COLUMN_START = 1, COLUMN_END = 2, COLUMN_BYTES = 3, COLUMN_STATUS = 12, COLUMN_NEW = 99 };

/* The four encodings, and a column of a newer version in between that another one refers to. */
static void test_encodings(void **state)
{
    struct hand hand = {0};
    struct trace_builder b;
    struct gathered all = {0};
    put_chunk(&hand, 3, 5);
    put_column(&hand, COLUMN_START, XFT_ENC_DELTA, 0, 4);
    put_column(&hand, COLUMN_NEW, XFT_ENC_VARINT, 0, 3);
    put_column(&hand, COLUMN_END, XFT_ENC_DIFF, COLUMN_START, 3);
    put_column(&hand, COLUMN_BYTES, XFT_ENC_DIFF, COLUMN_NEW, 3);
    put_column(&hand, COLUMN_STATUS, XFT_ENC_CONST, 0, 10);
    put(&hand, "\xc8\x01\x14\x01", 4);                          /* 100, +10, -1 */
    put(&hand, "\x05\x06\x07", 3);                              /* 5, 6, 7 */
    put(&hand, "\x02\x04\x01", 3);                              /* +1, +2, -1 */
    put(&hand, "\x00\x02\x04", 3);                              /* +0, +1, +2 */
    put(&hand, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10); /* -1 */
    struct xfa_trace *trace = hand_trace(&b, &hand);
    xfa_trace_events(trace, gather, &all);
    static const uint64_t starts[] = {100, 110, 109}, ends[] = {101, 112, 108}, bytes[] = {5, 7, 9};
    assert_int_equal(all.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(all.events[i].start_ns, starts[i]);
        assert_int_equal(all.events[i].end_ns, ends[i]);
        assert_int_equal(all.events[i].bytes, bytes[i]);
        assert_int_equal(all.events[i].status, -1);
    }
    assert_false(is_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

enum { COLUMN_SRC = 5, COLUMN_WIDTH = 7, COLUMN_AUX = 8, COLUMN_STACK = 10, COLUMN_CALL = 13 };

/* Those that 1.1 added. */
static void test_newer_encodings(void **state)
{
    struct hand hand = {0};
    struct trace_builder b;
    struct gathered all = {0};
    put_chunk(&hand, 3, 6);
    put_column(&hand, COLUMN_STACK, XFT_ENC_DICT, 0, 6);
    put_column(&hand, COLUMN_CALL, XFT_ENC_MAP, COLUMN_STACK, 2);
    put_column(&hand, COLUMN_START, XFT_ENC_DELTA_PLANES, 0, 6);
    put_column(&hand, COLUMN_END, XFT_ENC_DIFF_PLANES, COLUMN_START, 2);
    put_column(&hand, COLUMN_SRC, XFT_ENC_PLANES, 0, 8);
    put_column(&hand, COLUMN_AUX, XFT_ENC_PLANES, COLUMN_SRC, 5); /* its base says nothing */
    put(&hand, "\x02\x0a\x03\x01\x00\x01", 6);                    /* 5, 3; rows 1 0 1 */
    put(&hand, "\x10\x12", 2);                                    /* 8, 17 */
    put(&hand, "\x64\x13\x01\x00\x00\x1e", 6);                    /* 100; -10 + 0, 30 */
    put(&hand, "\x0e\x00", 2);                                    /* +7 each */
    put(&hand, "\x01\x02\x01\x02\x03\x00\x01\x00", 8);            /* -1 + 1, 258, 3 */
    put(&hand, "\x04\x01\x00\x01\x02", 5);                        /* 2 + 0, 1, 2 */
    struct xfa_trace *trace = hand_trace(&b, &hand);
    xfa_trace_events(trace, gather, &all);
    static const uint64_t starts[] = {100, 90, 110}, src[] = {0, 257, 2};
    assert_int_equal(all.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(all.events[i].stack, i == 1 ? 5 : 3);
        assert_int_equal(all.events[i].call, i == 1 ? 8 : 17);
        assert_int_equal(all.events[i].start_ns, starts[i]);
        assert_int_equal(all.events[i].end_ns, starts[i] + 7);
        assert_int_equal(all.events[i].src, src[i]);
        assert_int_equal(all.events[i].aux, 2 + i);
    }
    assert_false(is_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* What follows from what: two dictionaries, one with a map that another column differs from, and a
 * constant that one does. `twice`: a column is there again, and counts as it is there last. */
static void check_followers(bool twice)
{
    struct hand hand = {0};
    struct trace_builder b;
    struct gathered all = {0};
    put_chunk(&hand, 4, twice ? 8 : 7);
    put_column(&hand, COLUMN_STACK, XFT_ENC_DICT, 0, 7);
    put_column(&hand, COLUMN_BYTES, XFT_ENC_MAP, COLUMN_STACK, 4);
    put_column(&hand, COLUMN_WIDTH, XFT_ENC_DIFF, COLUMN_BYTES, 4);
    put_column(&hand, COLUMN_CALL, XFT_ENC_CONST, 0, 1);
    put_column(&hand, COLUMN_STATUS, XFT_ENC_DIFF, COLUMN_CALL, 4);
    put_column(&hand, COLUMN_SRC, XFT_ENC_DICT, 0, 7);
    put_column(&hand, COLUMN_AUX, XFT_ENC_MAP, COLUMN_SRC, 2);
    if (twice)
        put_column(&hand, COLUMN_BYTES, XFT_ENC_CONST, 0, 1);
    put(&hand, "\x02\x0a\x08\x00\x01\x01\x00", 7); /* 5, 9; rows 0 1 1 0 */
    put(&hand, "\xc8\x01\xc8\x01", 4);             /* 100, 200 */
    put(&hand, "\x00\x02\x01\x00", 4);             /* +0, +1, -1, +0 */
    put(&hand, "\x07", 1);
    put(&hand, "\x02\x04\x00\x00", 4);             /* +1, +2, +0, +0 */
    put(&hand, "\x02\x06\x02\x01\x00\x01\x00", 7); /* 3, 4; rows 1 0 1 0 */
    put(&hand, "\x64\x02", 2);                     /* 50, 51 */
    put(&hand, "\x01", twice);
    struct xfa_trace *trace = hand_trace(&b, &hand);
    xfa_trace_events(trace, gather, &all);
    static const uint64_t bytes[] = {100, 200, 200, 100}, width[] = {100, 201, 199, 100};
    static const int status[] = {8, 9, 7, 7};
    assert_int_equal(all.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct xft_event *e = &all.events[i];
        assert_int_equal(e->stack, i % 3 ? 9 : 5);
        assert_int_equal(e->bytes, twice ? 1 : bytes[i]);
        assert_int_equal(e->width, width[i]);
        assert_int_equal(e->call, 7);
        assert_int_equal(e->status, status[i]);
        assert_int_equal(e->src, i % 2 ? 3 : 4);
        assert_int_equal(e->aux, i % 2 ? 50 : 51);
        assert_int_equal(e->start_ns, 0);
    }
    assert_false(is_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

static void test_followers(void **state)
{
    check_followers(false);
    check_followers(true);
}

/* Each of these chunks is sound by its sum and wrong inside: counted, nothing made up. */
static void expect_bad(const struct hand *hand, size_t events, uint64_t bad_entries,
                       uint64_t bad_rows)
{
    struct trace_builder b;
    struct gathered all = {0};
    struct xfa_trace *trace = hand_trace(&b, hand);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, events);
    assert_int_equal(trace->loss.bad_entries, bad_entries);
    assert_int_equal(trace->loss.bad_rows, bad_rows);
    assert_true(is_lossy(trace));
    xfa_trace_events(trace, gather, &all); /* a second pass does not count twice */
    assert_int_equal(trace->loss.bad_entries, bad_entries);
    assert_int_equal(trace->loss.bad_rows, bad_rows);
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

static void test_malformed_chunks(void **state)
{
    struct hand hand = {0};
    put_chunk(&hand, 3, 1); /* the directory is missing */
    expect_bad(&hand, 0, 1, 0);

    hand.size = 0;
    put_chunk(&hand, 3, 1); /* the column is longer than the payload */
    put_column(&hand, COLUMN_BYTES, XFT_ENC_VARINT, 0, 4000000000u);
    expect_bad(&hand, 0, 1, 0);

    hand.size = 0;
    put_chunk(&hand, 3, 1); /* a base that is not there */
    put_column(&hand, COLUMN_BYTES, XFT_ENC_DIFF, COLUMN_START, 1);
    put(&hand, "\x00", 1);
    expect_bad(&hand, 0, 1, 0);

    hand.size = 0;
    put_chunk(&hand, 3, 1); /* an encoding nobody knows, in a column that matters */
    put_column(&hand, COLUMN_BYTES, 77, 0, 1);
    put(&hand, "\x00", 1);
    expect_bad(&hand, 0, 1, 0);

    hand.size = 0;
    put_chunk(&hand, 3, 1); /* too few varints */
    put_column(&hand, COLUMN_BYTES, XFT_ENC_VARINT, 0, 2);
    put(&hand, "\x01\x02", 2);
    expect_bad(&hand, 0, 0, 3);

    hand.size = 0;
    put_chunk(&hand, 3, 1); /* a varint without end */
    put_column(&hand, COLUMN_BYTES, XFT_ENC_VARINT, 0, 12);
    put(&hand, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    expect_bad(&hand, 0, 0, 3);

    hand.size = 0;
    put_chunk(&hand, UINT32_MAX, 1); /* four thousand million events in one byte */
    put_column(&hand, COLUMN_BYTES, XFT_ENC_CONST, 0, 1);
    put(&hand, "\x01", 1);
    expect_bad(&hand, 0, 1, 0);

    hand.size = 0;
    put_chunk(&hand, 1, UINT32_MAX);
    expect_bad(&hand, 0, 1, 0);
}

static void expect_bad_column(unsigned encoding, unsigned base, const char *bytes, unsigned length,
                              uint64_t bad_rows)
{
    struct hand hand = {0};
    put_chunk(&hand, 3, 2);
    put_column(&hand, COLUMN_STACK, XFT_ENC_DICT, 0, 5);
    put_column(&hand, COLUMN_BYTES, encoding, base, length);
    put(&hand, "\x01\x02\x00\x00\x00", 5);
    put(&hand, bytes, length);
    expect_bad(&hand, 0, bad_rows == 0, bad_rows);
}

static void test_malformed_newer_encodings(void **state)
{
    expect_bad_column(XFT_ENC_DICT, 0, "\x01\x02\x00\x01\x00", 5, 3); /* an entry beyond */
    expect_bad_column(XFT_ENC_DICT, 0, "\x01\x02\x00\x00", 4, 0);     /* a row missing */
    expect_bad_column(XFT_ENC_DICT, 0, "\x00\x00\x00\x00", 4, 0);     /* no entries */
    expect_bad_column(XFT_ENC_DICT, 0, "\x81\x20\x00\x00", 4, 0);     /* more than allowed */
    expect_bad_column(XFT_ENC_DICT, 0, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", 10, 0);
    expect_bad_column(XFT_ENC_DICT, 0, "", 0, 0);
    expect_bad_column(XFT_ENC_MAP, COLUMN_STACK, "", 0, 0);             /* no value */
    expect_bad_column(XFT_ENC_MAP, 0, "\x02", 1, 0);                    /* of no column */
    expect_bad_column(XFT_ENC_MAP, COLUMN_BYTES, "\x02", 1, 0);         /* of itself */
    expect_bad_column(XFT_ENC_PLANES, 0, "\x00", 1, 0);                 /* how many? */
    expect_bad_column(XFT_ENC_PLANES, 0, "\x00\x09", 2, 0);             /* nine planes */
    expect_bad_column(XFT_ENC_PLANES, 0, "\x00\xff\x01\x01\x01", 5, 0); /* 255 */
    expect_bad_column(XFT_ENC_PLANES, 0, "\x00\x02\x01\x01\x01\x01", 6, 0);
    expect_bad_column(XFT_ENC_DELTA_PLANES, 0, "\x00", 1, 0);
    expect_bad_column(XFT_ENC_DIFF_PLANES, 0, "\x00\x00", 2, 0);
    expect_bad_column(XFT_ENC_DIFF_PLANES, COLUMN_BYTES, "\x00\x00", 2, 0);
}

/* A map of a column that is not a dictionary. */
static void test_map_of_constant(void **state)
{
    struct hand hand = {0};
    put_chunk(&hand, 3, 2);
    put_column(&hand, COLUMN_STACK, XFT_ENC_CONST, 0, 1);
    put_column(&hand, COLUMN_BYTES, XFT_ENC_MAP, COLUMN_STACK, 1);
    put(&hand, "\x01\x02", 2);
    expect_bad(&hand, 0, 1, 0);
}

/* An encoding nobody knows in a column nobody knows is not a loss. */
static void test_newer_column(void **state)
{
    struct hand hand = {0};
    struct trace_builder b;
    struct gathered all = {0};
    put_chunk(&hand, 2, 2);
    put_column(&hand, COLUMN_NEW, 77, 0, 3);
    put_column(&hand, COLUMN_BYTES, XFT_ENC_CONST, 0, 1);
    put(&hand, "abc\x2a", 4);
    struct xfa_trace *trace = hand_trace(&b, &hand);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.events[1].bytes, 42);
    assert_false(is_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* ---- frames --------------------------------------------------------------------------- */

static size_t put_frame(unsigned char *at, const char *text, size_t bytes, int said)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, said);
    size_t n = ZSTD_compress2(context, at, 256, text, bytes);
    assert_false(ZSTD_isError(n));
    ZSTD_freeCCtx(context);
    return n;
}

/* A META segment of these bytes, and whether its pair is read. */
static void expect_meta(const unsigned char *packed, size_t stored, size_t raw, bool good)
{
    struct trace_builder b;
    build_start(&b, 7);
    build_plain_segment(&b, XFT_SEG_META, XFT_SEG_ZSTD, packed, stored, raw);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    const char *value = xfa_trace_meta(trace, "exe");
    assert_int_equal(value && strcmp(value, "first") == 0, good);
    assert_int_equal(is_lossy(trace), !good);
    xfa_trace_close(trace);
    build_free(&b);
}

static void test_frames(void **state)
{
    static unsigned char packed[64 * (XFA_MAX_PIECES + 2)];
    size_t one = put_frame(packed, "exe\0", 4, 1), two = one + put_frame(packed + one, "fir", 3, 1);
    size_t all = two + put_frame(packed + two, "st\0", 3, 1);
    expect_meta(packed, all, 10, true);
    expect_meta(packed, all, 11, false); /* fewer bytes than said */
    expect_meta(packed, all, 7, false);
    expect_meta(packed, all - 1, 10, false); /* the last one cut */
    expect_meta(packed, two, 10, false);     /* the last one missing */
    expect_meta(packed, all + 1, 10, false); /* something behind */
    put_frame(packed + two, "st\0", 3, 0);   /* one that does not say its size */
    expect_meta(packed, all - 1, 10, false);
    for (size_t i = 0, at = all = 0; i < XFA_MAX_PIECES + 1; i++, all = at)
        at += put_frame(packed + at, "", 0, 1);
    expect_meta(packed, all, 0, false); /* more than anybody writes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),        cmocka_unit_test(test_newer_encodings),
        cmocka_unit_test(test_malformed_chunks), cmocka_unit_test(test_malformed_newer_encodings),
        cmocka_unit_test(test_map_of_constant),  cmocka_unit_test(test_newer_column),
        cmocka_unit_test(test_frames),           cmocka_unit_test(test_followers),
    };
    return cmocka_run_group_tests_name("analyzer-encodings", tests, NULL, NULL);
}
