/*
 * What completing a trace leaves of its damage: the reader finds the same before and after, and
 * after a second time.
 */
#include "tests/analyzer/lab/completed.h"
#include "tests/analyzer/traces/ill_rooms.h"

static void test_sound(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_false(found.lossy);
}

/* The last segment of its lane: no hole in the numbers tells of it. */
static void test_broken_events(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    b.bytes[lanes_at - 16] ^= 1;
    struct found found = check(&b);
    assert_int_equal(found.events, 3 * ROWS);
    assert_int_equal(found.loss.missing_events, 0);
    assert_int_equal(found.loss.damaged_segments, 1);
    assert_true(found.lossy);
}

static void test_broken_segment_header(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    size_t at = b.size;
    build_meta(&b, "late", "1");
    b.bytes[at + 8] ^= 1;
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_int_equal(found.loss.damaged_segments, 1);
    assert_int_equal(found.loss.damaged_bytes, 48); /* the segment, padded */
}

/* Segments lie at multiples of 8, whatever the header's length says. */
static void test_odd_header(void **state)
{
    (void)state;
    for (unsigned less = 1; less < 8; less++) {
        struct trace_builder b;
        build_killed(&b);
        build_header_bytes(&b, XFT_HEADER_BYTES - less);
        struct found found = check(&b);
        assert_int_equal(found.events, 4 * ROWS);
        assert_false(found.lossy);
    }
}

static void break_magic(struct xft_slab *at)
{
    at->magic ^= 0x100;
}

static void erase_magic(struct xft_slab *at)
{
    at->magic = 0;
}

static void break_state(struct xft_slab *at)
{
    at->state = 3;
}

static void break_committed(struct xft_slab *at)
{
    at->committed = XFT_SLAB_EVENTS + 1;
}

static void break_sequence(struct xft_slab *at)
{
    at->first_seq = UINT64_MAX - 5;
}

static void test_broken_slabs(void **state)
{
    (void)state;
    static void (*const ways[])(struct xft_slab *) = {break_magic, erase_magic, break_state,
                                                      break_committed, break_sequence};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct trace_builder b;
        build_killed(&b);
        ways[i](slab(&b, 1));
        struct found found = check(&b);
        assert_int_equal(found.events, 3 * ROWS);
        assert_int_equal(found.loss.damaged_segments, 1);
        assert_int_equal(found.loss.damaged_bytes, XFT_SLAB_BYTES);
        assert_true(found.lossy);
    }
}

/* ---- files that end too early ----------------------------------------------------------- */

/* Cut inside a slab: its first rows are good, and how many others there were is known. */
static void test_cut_in_slab(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    b.size = (size_t)((unsigned char *)(slab(&b, 2) + 1) - b.bytes) + 40 * sizeof(struct xft_event);
    struct found found = check(&b);
    assert_int_equal(found.events, 3 * ROWS + 40);
    assert_int_equal(found.loss.bad_rows, 60);
    assert_true(found.loss.truncated);
}

/* At a segment's end, where only the stated length shows it; down to the header alone. */
static void test_cut_between_segments(void **state)
{
    (void)state;
    for (int to_nothing = 0; to_nothing < 2; to_nothing++) {
        struct trace_builder b;
        build_killed(&b);
        struct xft_file_header *header = (struct xft_file_header *)b.bytes;
        header->file_bytes = b.size;
        b.size = to_nothing ? XFT_HEADER_BYTES : lanes_at;
        struct found found = check(&b);
        assert_int_equal(found.events, to_nothing ? 0 : ROWS);
        assert_true(found.loss.cut_short);
        assert_true(found.lossy);
    }
}

/* What a killed process was writing is behind the stated length, and no loss. */
static void test_torn_end(void **state)
{
    (void)state;
    struct trace_builder b;
    build_killed(&b);
    ((struct xft_file_header *)b.bytes)->file_bytes = b.size;
    build_events(&b, 1, 0, events, ROWS);
    b.size -= 24;
    struct found found = check(&b);
    assert_int_equal(found.events, 4 * ROWS);
    assert_false(found.lossy);
}

/* ---- rooms ------------------------------------------------------------------------------ */

static void test_ill_rooms(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ILL_ROOMS; i++) {
        const struct ill_room *expected = &ill_rooms[i];
        struct trace_builder b;
        build_ill_room(&b, i);
        build_save(&b, path);
        struct found before = read_file();
        if (strcmp(before.names, expected->names) != 0 ||
            before.loss.damaged_segments != expected->damaged)
            print_message("a room: %s\n", expected->what);
        assert_string_equal(before.names, expected->names);
        assert_int_equal(before.events, ILL_ROOM_EVENTS);
        assert_int_equal(before.loss.damaged_segments, expected->damaged);
        assert_int_equal(before.loss.truncated, expected->truncated);
        assert_int_equal(before.lossy, expected->damaged || expected->truncated);
        check(&b);
    }
}

/* ---- lists ------------------------------------------------------------------------------ */

/* A malformed list must not take others with it when they are joined, nor vanish. */
static void test_malformed_list(void **state)
{
    (void)state;
    char error[256];
    struct trace_builder b;
    build_killed(&b);
    build_plain_segment(&b, XFT_SEG_META, 0, "a\0first", 8, 8);
    build_plain_segment(&b, XFT_SEG_META, 0, "no end", 6, 6);
    build_plain_segment(&b, XFT_SEG_META, 0, "a\0second\0b\0third", 17, 17);
    build_plain_segment(&b, XFT_SEG_CALLS, 0, "too short", 9, 10); /* raw and stored differ */
    build_plain_segment(&b, XFT_SEG_NAMES, 2, "of a newer form", 15, 15);
    struct found found = check(&b);
    assert_int_equal(found.loss.bad_entries, 1);
    assert_int_equal(found.loss.limited_segments, 2);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    assert_non_null(trace);
    assert_string_equal(xfa_trace_meta(trace, "a"), "second");
    assert_string_equal(xfa_trace_meta(trace, "b"), "third");
    xfa_trace_close(trace);
}

/* ---- order and duplicates --------------------------------------------------------------- */

struct order {
    uint64_t next;
    size_t wrong;
};

static void follow(void *context, const struct xfa_batch *batch)
{
    struct order *order = context;
    order->wrong += batch->first_seq != order->next;
    order->next = batch->first_seq + batch->rows;
}

/* Slabs are used again in any order; within a lane the events stay in theirs. Those that EVENTS
 * hold already are not written twice. */
static void test_order_of_slabs(void **state)
{
    (void)state;
    char error[256];
    struct trace_builder b;
    struct order order = {0};
    build_start(&b, 4712);
    build_meta(&b, "exe", "x");
    build_events(&b, 0, 0, events, ROWS);
    build_lanes(&b, 4);
    build_slab(&b, 0, XFT_SLAB_ACTIVE, 0, 3 * ROWS, events, ROWS);
    build_slab(&b, 1, XFT_SLAB_FULL, 0, 2 * ROWS, events, ROWS);
    build_slab(&b, 2, XFT_SLAB_FULL, 0, 0, events, ROWS); /* written, not yet free */
    build_slab(&b, 3, XFT_SLAB_FULL, 0, ROWS, events, ROWS);
    build_close(&b, XFT_STATE_RECORDING, 0);
    check(&b);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    xfa_trace_events(trace, follow, &order);
    assert_int_equal(order.next, 4 * ROWS);
    assert_int_equal(order.wrong, 0);
    assert_int_equal(trace->duplicate_events, 0);
    xfa_trace_close(trace);
}

/* A segment with the numbers of a slab's rows, and columns that no reader takes; or with more bytes
 * stated than it has. */
static void build_unreadable(struct trace_builder *b, bool columns)
{
    static unsigned char raw[1 << 20];
    struct xft_packer packer;
    struct xft_cuts cuts;
    struct xft_chunk chunk = {.lane = 1, .tid = 101, .rows = ROWS};
    assert_true(xft_packer_init(&packer, NULL));
    size_t bytes = xft_encode_events(packer.encoder, &chunk, events, raw, sizeof raw, &cuts);
    xft_packer_free(&packer);
    assert_true(bytes > sizeof chunk + sizeof(struct xft_column));
    if (columns) /* the last one: the times before it can be read */
        memset(raw + bytes - 8, 0xff, 8);
    build_plain_segment(b, XFT_SEG_EVENTS, 0, raw, bytes, bytes + (columns ? 0 : 8));
}

/* What the slab has is kept, whatever the head of a segment says of the same rows. */
static void test_unreadable_copy(void **state)
{
    (void)state;
    for (int columns = 0; columns < 2; columns++) {
        struct trace_builder b;
        build_start(&b, 4713);
        build_unreadable(&b, columns);
        build_lanes(&b, 1);
        build_slab(&b, 0, XFT_SLAB_FULL, 1, 0, events, ROWS);
        build_close(&b, XFT_STATE_RECORDING, 0);
        build_save(&b, path);
        build_free(&b);
        struct found before = read_file();
        assert_int_equal(before.events, ROWS);
        complete();
        struct found after = read_file();
        assert_int_equal(after.events, ROWS);
        assert_int_equal(after.bytes, before.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_broken_events),
        cmocka_unit_test(test_broken_segment_header),
        cmocka_unit_test(test_odd_header),
        cmocka_unit_test(test_broken_slabs),
        cmocka_unit_test(test_cut_in_slab),
        cmocka_unit_test(test_cut_between_segments),
        cmocka_unit_test(test_torn_end),
        cmocka_unit_test(test_ill_rooms),
        cmocka_unit_test(test_malformed_list),
        cmocka_unit_test(test_order_of_slabs),
        cmocka_unit_test(test_unreadable_copy),
    };
    return cmocka_run_group_tests_name("analyzer-complete", tests, make_place, remove_place);
}
