/* The reader: every encoding, slabs, names, damage, hostile input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>
#include <zstd.h>

#include "analyzer/read/read.h"
#include "tests/analyzer/scenario.h"

struct gathered {
    struct xft_event *events;
    uint64_t *names; /* lane << 32 | sequence */
    size_t count, room;
};

static void gather(void *context, const struct xfa_batch *batch)
{
    struct gathered *all = context;
    for (size_t i = 0; i < batch->rows; i++) {
        if (all->count == all->room) {
            all->room = all->room ? 2 * all->room : 1024;
            all->events = realloc(all->events, all->room * sizeof *all->events);
            all->names = realloc(all->names, all->room * sizeof *all->names);
        }
        all->names[all->count] = (uint64_t)batch->lane << 32 | (batch->first_seq + i);
        all->events[all->count++] = batch->events[i];
    }
}

static void forget(struct gathered *all)
{
    free(all->events);
    free(all->names);
    *all = (struct gathered){0};
}

static struct xfa_trace *open_built(const struct trace_builder *b)
{
    char error[512] = "";
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    if (!trace)
        print_error("%s\n", error);
    assert_non_null(trace);
    return trace;
}

static struct xft_event noisy_event(unsigned i)
{
    uint64_t r = i * 6364136223846793005ull + 1442695040888963407ull;
    return (struct xft_event){
        .start_ns = 1000 + i * 17 + r % 5,
        .end_ns = 1100 + i * 17,
        .bytes = r >> (i % 64),
        .dst = r * 3,
        .src = ~r,
        .stream = i % 4,
        .width = 64,
        .aux = i % 100 == 7 ? UINT64_MAX : 0,
        .count = i % 3 + 1,
        .stack = i % 10,
        .correlation = i + 4000000000u,
        .status = i % 5 ? 0 : -(int)(i % 1000),
        .call = (uint16_t)(r >> 40),
        .flags = (uint16_t)(i & 63),
        .src_place = (int16_t)(i % 7 - 2),
        .dst_place = XFT_PLACE_HOST,
        .device = (int16_t)(i % 2),
        .kind = XFT_EVENT_TRANSFER,
        .direction = (uint8_t)(i % 6),
        .src_mem = (uint8_t)(i % 9),
        .dst_mem = XFT_MEM_DEVICE,
    };
}

/* What the recorder's encoder writes comes back field for field. */
static void test_round_trip(void **state)
{
    enum { COUNT = 6000 };
    struct trace_builder b;
    struct gathered all = {0};
    struct xft_event *events = calloc(COUNT, sizeof *events);
    for (unsigned i = 0; i < COUNT; i++)
        events[i] = noisy_event(i);
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_events(&b, 5, 0, events, COUNT);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, COUNT);
    assert_memory_equal(all.events, events, COUNT * sizeof *events);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(all.names[i], (uint64_t)5 << 32 | i);
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    free(events);
    build_free(&b);
}

static void test_texts(void **state)
{
    (void)state;
    static char huge[XFT_NAME_MOST + 2];
    struct trace_builder b;
    memset(huge, 'x', sizeof huge - 1);
    build_start(&b, 7);
    build_text(&b, 1, "forward");
    build_text(&b, 70000, "backward");
    build_text(&b, 2, huge);
    build_plain_segment(&b, XFT_SEG_NAMES, 0, "\3\0\0\0\377\0\0\0too short", 17, 17);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = xfa_trace_open_bytes(b.bytes, b.size, NULL, 0);
    assert_non_null(trace);
    const struct xfa_text *text = xfa_trace_text(trace, 70000);
    assert_int_equal(text->bytes, 8);
    assert_memory_equal(text->text, "backward", 8);
    assert_int_equal(xfa_trace_text(trace, 1)->bytes, 7);
    assert_null(xfa_trace_text(trace, 0));
    assert_null(xfa_trace_text(trace, 2));
    assert_null(xfa_trace_text(trace, 3));
    assert_null(xfa_trace_text(trace, (UINT64_C(1) << 32) + 1));
    assert_int_equal(trace->loss.bad_entries, 2);
    xfa_trace_close(trace);
    build_free(&b);
}

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
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

enum { COLUMN_SRC = 5, COLUMN_AUX = 8, COLUMN_STACK = 10, COLUMN_CALL = 13 };

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
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
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
    assert_true(xfa_trace_lossy(trace));
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
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* ---- slabs, gaps, unknown segments ---------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_slabs_once_each(void **state)
{
    struct trace_builder whole, killed;
    struct gathered expected = {0}, all = {0};
    scenario_mixed(&whole);
    scenario_killed(&killed);
    struct xfa_trace *trace = open_built(&whole), *cut = open_built(&killed);
    xfa_trace_events(trace, gather, &expected);
    xfa_trace_events(cut, gather, &all);
    assert_int_equal(all.count, expected.count);
    qsort(all.names, all.count, sizeof *all.names, by_name);
    qsort(expected.names, expected.count, sizeof *expected.names, by_name);
    assert_memory_equal(all.names, expected.names, all.count * sizeof *all.names);
    assert_int_equal(cut->duplicate_events, 50);
    assert_false(xfa_trace_lossy(cut));
    xfa_trace_close(trace);
    xfa_trace_close(cut);
    forget(&all);
    forget(&expected);
    build_free(&whole);
    build_free(&killed);
}

static void test_gaps_are_counted(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    struct xft_event events[10] = {0};
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_events(&b, 0, 5, events, 10);  /* 0..4 are missing */
    build_events(&b, 0, 20, events, 10); /* 15..19 */
    build_events(&b, 3, 0, events, 10);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 30);
    assert_int_equal(trace->loss.missing_events, 10);
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

static void test_unknown_segment_is_skipped(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    struct xft_event events[10] = {0};
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_plain_segment(&b, 4242, 0, "something new", 13, 13);
    build_events(&b, 0, 0, events, 10);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 10);
    assert_false(xfa_trace_lossy(trace));
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* Events of a newer minor version are longer; of them the known part is read. */
static void test_longer_events_in_slabs(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    enum { STRIDE = 2 * sizeof(struct xft_event) };
    struct xft_event events[4] = {{.bytes = 11}, {.bytes = 999}, {.bytes = 22}, {.bytes = 999}};
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_lanes(&b, 1);
    build_slab(&b, 0, XFT_SLAB_ACTIVE, 0, 0, events, 4);
    build_close(&b, XFT_STATE_RECORDING, 0);
    build_event_bytes(&b, STRIDE, 2);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.events[0].bytes, 11);
    assert_int_equal(all.events[1].bytes, 22);
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

static void test_slab_claims_too_much(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    struct xft_event events[4] = {0};
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_lanes(&b, 1);
    build_slab(&b, 0, XFT_SLAB_ACTIVE, 0, 0, events, 4);
    build_close(&b, XFT_STATE_RECORDING, 0);
    build_event_bytes(&b, sizeof(struct xft_event), UINT32_MAX);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 0); /* which of its rows were written cannot be told */
    assert_int_equal(trace->loss.damaged_segments, 1);
    assert_int_equal(trace->loss.damaged_bytes, XFT_SLAB_BYTES);
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* ---- names ---------------------------------------------------------------------------- */

static void test_names(void **state)
{
    struct trace_builder b;
    size_t count;
    scenario_mixed(&b);
    struct xfa_trace *trace = open_built(&b);
    assert_string_equal(xfa_trace_meta(trace, "hostname"), "testhost");
    assert_null(xfa_trace_meta(trace, "no such key"));
    assert_string_equal(xfa_trace_call(trace, CALL_HTOD)->name, "cuMemcpyHtoD_v2");
    assert_null(xfa_trace_call(trace, 77));
    assert_null(xfa_trace_call(trace, 1 << 20));
    const struct xfa_stack *stack = xfa_trace_stack(trace, STACK_UPLOAD);
    assert_int_equal(stack->depth, 3);
    assert_int_equal(xfa_stack_address(stack, 1), 0x401100);
    assert_null(xfa_trace_stack(trace, 12345));
    assert_string_equal(xfa_trace_module(trace, 0x400010)->path, "/opt/sample/train");
    assert_string_equal(xfa_trace_module(trace, 0x400010)->build_id, "01ab");
    assert_null(xfa_trace_module(trace, 0x500000));
    assert_null(xfa_trace_module(trace, 0));
    const struct xfa_symbol *symbols = xfa_trace_symbols(trace, 0x401100, &count);
    assert_int_equal(count, 2);
    assert_memory_equal(symbols[0].function, "upload", 6);
    assert_memory_equal(symbols[1].function, "step", 4);
    assert_null(xfa_trace_symbols(trace, 1, &count));
    xfa_trace_close(trace);
    build_free(&b);
}

static void test_later_meta_replaces(void **state)
{
    struct trace_builder b;
    build_start(&b, 7);
    build_meta(&b, "timing", "cupti");
    build_meta(&b, "timing", "host");
    build_plain_segment(&b, XFT_SEG_META, 0, "no end", 6, 6);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    assert_string_equal(xfa_trace_meta(trace, "timing"), "host");
    assert_int_equal(trace->loss.bad_entries, 1);
    xfa_trace_close(trace);
    build_free(&b);
}

/* ---- damage --------------------------------------------------------------------------- */

static size_t count_events(const unsigned char *bytes, size_t size, bool *opened, bool *lossy)
{
    char error[512] = "";
    struct gathered all = {0};
    struct xfa_trace *trace = xfa_trace_open_bytes(bytes, size, error, sizeof error);
    *opened = trace != NULL;
    if (!trace) {
        assert_true(strlen(error) > 0);
        assert_null(strchr(error, '\n'));
        return 0;
    }
    xfa_trace_events(trace, gather, &all);
    *lossy = xfa_trace_lossy(trace);
    xfa_trace_close(trace);
    size_t count = all.count;
    forget(&all);
    return count;
}

/* Cut anywhere: what is left is read or refused in one line, and a cut is always said. */
static void test_cut_at_every_byte(void **state)
{
    struct trace_builder b;
    bool opened, lossy;
    scenario_mixed(&b);
    size_t whole = count_events(b.bytes, b.size, &opened, &lossy), before = 0;
    assert_true(opened && !lossy && whole > 0);
    for (size_t size = 0; size < b.size; size++) {
        unsigned char *cut = malloc(size ? size : 1); /* its end is watched by the sanitizer */
        memcpy(cut, b.bytes, size);
        size_t count = count_events(cut, size, &opened, &lossy);
        free(cut);
        assert_true(!opened || lossy);
        assert_true(count >= before && count <= whole);
        before = count;
    }
    assert_true(before > 0);
    build_free(&b);
}

/* One damaged byte: at most its segment is lost, and that is said; bytes that no sum covers (the
 * counters of the header, padding) are the exception. */
static void test_every_byte_flipped(void **state)
{
    struct trace_builder b;
    bool opened, lossy;
    scenario_mixed(&b);
    size_t whole = count_events(b.bytes, b.size, &opened, &lossy);
    size_t silent = 0, lost_all = 0;
    for (size_t at = 0; at < b.size; at++) {
        bool header = at >= sizeof(struct xft_file_header) && at < XFT_HEADER_BYTES;
        if (header && at % 64)
            continue; /* reserved zeros, all alike */
        b.bytes[at] ^= 0x10;
        size_t count = count_events(b.bytes, b.size, &opened, &lossy);
        b.bytes[at] ^= 0x10;
        assert_true(opened);
        assert_true(count <= whole);
        silent += count == whole && !lossy;
        lost_all += count == 0;
        assert_true(count == whole || lossy);
    }
    assert_int_equal(lost_all, 0);
    print_message("flips without consequence: %zu of %zu\n", silent, b.size);
    build_free(&b);
}

static void test_reads_on_after_damage(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    struct xft_event events[10] = {0};
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_events(&b, 0, 0, events, 10);
    size_t from = b.size;
    build_events(&b, 0, 10, events, 10);
    size_t to = b.size;
    build_events(&b, 0, 20, events, 10);
    build_close(&b, XFT_STATE_CLOSED, 1);
    memset(b.bytes + from, 0xaa, to - from); /* header and all */
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 20);
    assert_int_equal(trace->loss.damaged_segments, 1);
    assert_int_equal(trace->loss.damaged_bytes, to - from);
    assert_int_equal(trace->loss.missing_events, 10);
    xfa_trace_close(trace);
    forget(&all);
    build_free(&b);
}

/* What follows the damage may lie across the end of a block that is searched at once. */
static void test_damage_up_to_a_block(void **state)
{
    enum { BLOCK = 65536, HEAD = sizeof(struct xft_segment) };
    static const unsigned char junk[BLOCK];
    (void)state;
    for (size_t short_of = 8; short_of < HEAD; short_of += 8) {
        struct trace_builder b;
        struct gathered all = {0};
        struct xft_event events[10] = {0};
        build_start(&b, 7);
        build_meta(&b, "exe", "x");
        size_t from = b.size;
        build_plain_segment(&b, XFT_SEG_PAD, 0, junk, BLOCK - short_of - HEAD,
                            BLOCK - short_of - HEAD);
        assert_int_equal(b.size - from, BLOCK - short_of);
        memset(b.bytes + from, 0xaa, b.size - from);
        build_events(&b, 0, 0, events, 10);
        build_close(&b, XFT_STATE_CLOSED, 1);
        struct xfa_trace *trace = open_built(&b);
        xfa_trace_events(trace, gather, &all);
        assert_int_equal(all.count, 10);
        assert_int_equal(trace->loss.damaged_bytes, BLOCK - short_of);
        xfa_trace_close(trace);
        forget(&all);
        build_free(&b);
    }
}

static void test_not_a_trace(void **state)
{
    static const char text[8192] = "this is a text file\n";
    char error[512];
    assert_null(xfa_trace_open_bytes(text, sizeof text, error, sizeof error));
    assert_non_null(strstr(error, "not a trace"));
    assert_null(xfa_trace_open_bytes("", 0, error, sizeof error));
    assert_non_null(strstr(error, "empty"));
    assert_null(xfa_trace_open("/nonexistent/x.trace", error, sizeof error));
    assert_non_null(strstr(error, "No such file"));
    assert_null(xfa_trace_open("/dev/null", error, sizeof error));
    assert_non_null(strstr(error, "not a regular file"));
}

static void test_newer_version(void **state)
{
    struct trace_builder b;
    char error[512];
    scenario_mixed(&b);
    build_version(&b, XFT_VERSION_MAJOR + 1);
    assert_null(xfa_trace_open_bytes(b.bytes, b.size, error, sizeof error));
    assert_non_null(strstr(error, "version 2"));
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
    assert_int_equal(xfa_trace_lossy(trace), !good);
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

/* ---- memory --------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__ /* keeps freed memory and shadows */
#define MOST_KIB (1024L * 1024)
#else
#define MOST_KIB (256L * 1024)
#endif

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Frames that say, or hold, far more than the file is long. */
static void test_bombs_stay_small(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    enum { RAW = 40 << 20 };
    unsigned char *raw = calloc(1, RAW);
    size_t bound = ZSTD_compressBound(RAW);
    unsigned char *packed = malloc(bound);
    size_t stored = ZSTD_compress(packed, bound, raw, RAW, 1);
    free(raw);
    long before = peak_kib();
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    for (int i = 0; i < 50; i++) /* 2 GB of stacks with depth 0 */
        build_plain_segment(&b, XFT_SEG_STACKS, XFT_SEG_ZSTD, packed, stored, RAW);
    build_plain_segment(&b, XFT_SEG_EVENTS, XFT_SEG_ZSTD, packed, stored, RAW);
    build_plain_segment(&b, XFT_SEG_SYMBOLS, XFT_SEG_ZSTD, packed, stored, 1ull << 60);
    build_plain_segment(&b, XFT_SEG_SYMBOLS, XFT_SEG_ZSTD, packed, stored, RAW - 1);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 0);
    assert_true(trace->loss.limited_segments >= 50);
    assert_int_equal(trace->loss.damaged_segments, 1);
    xfa_trace_close(trace);
    assert_true(peak_kib() - before < MOST_KIB);
    free(packed);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_newer_encodings),
        cmocka_unit_test(test_malformed_newer_encodings),
        cmocka_unit_test(test_map_of_constant),
        cmocka_unit_test(test_malformed_chunks),
        cmocka_unit_test(test_newer_column),
        cmocka_unit_test(test_slabs_once_each),
        cmocka_unit_test(test_gaps_are_counted),
        cmocka_unit_test(test_unknown_segment_is_skipped),
        cmocka_unit_test(test_longer_events_in_slabs),
        cmocka_unit_test(test_slab_claims_too_much),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_later_meta_replaces),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_reads_on_after_damage),
        cmocka_unit_test(test_damage_up_to_a_block),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_newer_version),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_bombs_stay_small),
    };
    return cmocka_run_group_tests_name("analyzer-read", tests, NULL, NULL);
}
