/* The reader and files that ask for more than they hold: rows, bytes and memory are bounded by the
 * size of the file, nothing is lost in silence, and what recorders write is read whole. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/table.h"
#include "analyzer/read/merge.h"
#include "analyzer/read/seen.h"
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/lab/one_by_one.h"
#include "tests/analyzer/traces/attacks.h"
#include "tests/analyzer/gather.h"
#include "tests/analyzer/lab/memory.h"
#include "tests/analyzer/traces/scenario.h"

enum { SIZE = 64 * 1024, ROWS_PER_BYTE = 64 };

static void count_rows(void *context, const struct xfa_batch *batch)
{
    *(uint64_t *)context += batch->rows;
}

static uint64_t rows_of(struct xfa_trace *trace)
{
    uint64_t rows = 0;
    xfa_trace_events(trace, count_rows, &rows);
    return rows;
}

/* ---- what a file may ask for ---------------------------------------------------------------- */

static void test_rows_and_names_are_bounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < attack_count; i++) {
        struct trace_builder b;
        assert_true(build_attack(&b, attacks[i].name, SIZE));
        long before = peak_kib();
        struct xfa_trace *trace = open_built(&b);
        uint64_t rows = rows_of(trace);
        print_message("%s: %zu bytes, %" PRIu64 " rows\n", attacks[i].name, b.size, rows);
        assert_true(rows <= ROWS_PER_BYTE * (uint64_t)b.size);
        assert_true(trace->names.bytes <= xft_unfold_most(b.size));
        assert_true(trace->names.bytes <= XFA_MAX_NAMES);
        for (size_t k = 0; k < trace->segment_count; k++)
            assert_true(trace->segments[k].type == XFT_SEG_PAD ||
                        trace->segments[k].raw <= xft_unfold_most(trace->segments[k].stored));
        assert_true(peak_kib() - before < MOST_KIB);
        xfa_trace_close(trace);
        build_free(&b);
    }
}

static void lost(const char *attack, bool limited)
{
    struct trace_builder b;
    assert_true(build_attack(&b, attack, SIZE));
    struct xfa_trace *trace = open_built(&b);
    rows_of(trace);
    assert_true(is_lossy(trace));
    assert_int_equal(trace->loss.limited_segments > 0, limited);
    assert_int_equal(trace->loss.bad_entries > 0, !limited);
    xfa_trace_close(trace);
    build_free(&b);
}

static void test_what_is_refused_is_said(void **state)
{
    (void)state;
    lost("many-rows", false);
    lost("many-calls", false);
    lost("one-address", false);
    lost("packed-events", true);
    lost("packed-stacks", true);
    lost("packed-meta", true);
    lost("packed-modules", true);
}

/* An address has as many symbols as anybody looks at, so that looking it up is no walk. */
static void test_symbols_of_one_address(void **state)
{
    (void)state;
    struct trace_builder b;
    size_t count;
    assert_true(build_attack(&b, "one-address", SIZE));
    struct xfa_trace *trace = open_built(&b);
    assert_non_null(xfa_trace_symbols(trace, 0x400100, &count));
    assert_int_equal(count, XFA_MAX_INLINED);
    xfa_trace_close(trace);
    build_free(&b);
}

static void test_long_pair(void **state)
{
    (void)state;
    struct trace_builder b;
    static char pair[XFA_MAX_PAIR + 8] = "exe";
    memset(pair + 4, 'x', sizeof pair - 5);
    build_start(&b, 7);
    build_plain_segment(&b, XFT_SEG_META, 0, pair, sizeof pair, sizeof pair);
    build_close(&b, XFT_STATE_RECORDING, 0);
    struct xfa_trace *trace = open_built(&b);
    assert_null(xfa_trace_meta(trace, "exe"));
    assert_int_equal(trace->loss.bad_entries, 1);
    xfa_trace_close(trace);
    build_free(&b);
}

/* ---- what recorders write ------------------------------------------------------------------- */

/* Names as long as they may be, one for another but for a letter. */
static void long_names(struct trace_builder *b)
{
    enum { NAMES = 2000, ENTRY = sizeof(struct xft_name) + XFT_NAME_MOST };
    unsigned char *raw = malloc(NAMES * ENTRY);
    memset(raw, 'k', NAMES * ENTRY);
    for (uint32_t i = 0; i < NAMES; i++) {
        struct xft_name name = {i + 1, XFT_NAME_MOST};
        memcpy(raw + i * ENTRY, &name, sizeof name);
        raw[i * ENTRY + sizeof name + i % XFT_NAME_MOST] = 'j';
    }
    build_segment(b, XFT_SEG_NAMES, raw, NAMES * ENTRY);
    free(raw);
}

/* Nothing ever changes but the time, by the same each time: no run is more regular. */
static void test_the_most_regular_run(void **state)
{
    enum { SEGMENTS = 20, COUNT = SEGMENTS * XFT_SLAB_EVENTS };
    (void)state;
    struct trace_builder b;
    struct xft_event *events = calloc(COUNT, sizeof *events);
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    long_names(&b);
    for (size_t i = 0; i < COUNT; i++)
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096,
                                  TEST_START_NS + i * 1000, 900);
    build_events(&b, 0, 0, events, COUNT);
    build_index(&b);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    assert_int_equal(rows_of(trace), COUNT);
    assert_false(is_lossy(trace));
    assert_int_equal(trace->names.texts.count, 2000);
    const struct xfa_segment *names = &trace->segments[1], *chunk = &trace->segments[2];
    print_message("2730 events in %" PRIu64 " bytes, names 1:%" PRIu64 "\n", chunk->stored,
                  names->raw / names->stored);
    assert_int_equal(names->flags, XFT_SEG_ZSTD);
    assert_true(4 * names->raw < xft_unfold_most(names->stored));
    xfa_trace_close(trace);
    build_free(&b);
    free(events);
}

/* What a writer compresses a reader lets unfold; what would not be believed is stored as it is. */
static void test_writers_keep_to_it(void **state)
{
    enum { RAW = 1 << 20 };
    (void)state;
    struct trace_builder b;
    unsigned char *zeros = calloc(1, RAW); /* stacks without frames */
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    build_segment(&b, XFT_SEG_STACKS, zeros, RAW);
    build_segment(&b, XFT_SEG_STACKS, zeros, RAW / 16);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    assert_false(is_lossy(trace));
    assert_int_equal(trace->segment_count, 3);
    assert_int_equal(trace->segments[1].flags, 0);
    assert_int_equal(trace->segments[2].flags, XFT_SEG_ZSTD);
    xfa_trace_close(trace);
    build_free(&b);
    free(zeros);
}

/* ---- sequence numbers ----------------------------------------------------------------------- */

/* Every second number backwards: all are read, and the others missed. The numbers of a hole that
 * was closed stay missed, whether they come or not. */
static void test_holes(void **state)
{
    enum { FIRST = 100, MORE = 1000 };
    (void)state;
    struct xfa_seen seen;
    uint64_t until, last = FIRST + 2 * (XFA_SEEN_HOLES + MORE);
    xfa_seen_init(&seen);
    for (uint64_t at = last; at >= FIRST; at -= 2)
        xfa_seen_add(&seen, 3, at, at + 1);
    assert_int_equal(xfa_seen_missing(&seen), FIRST + (last - FIRST) / 2);
    assert_true(xfa_seen_get(&seen, 3, FIRST + 1, FIRST + 2, &until)); /* closed: it comes late */
    assert_false(xfa_seen_get(&seen, 3, last - 1, last, &until));      /* still open */
    xfa_seen_add(&seen, 3, FIRST + 1, FIRST + 2);
    assert_int_equal(xfa_seen_missing(&seen), FIRST + (last - FIRST) / 2);
    xfa_seen_add(&seen, 3, last - 1, last);
    assert_int_equal(xfa_seen_missing(&seen), FIRST + (last - FIRST) / 2 - 1);
    xfa_seen_free(&seen);
}

/* ---- order of time -------------------------------------------------------------------------- */

/* More lanes at once than are open: all events come, and that some come late is counted. */
static void test_more_lanes_than_are_open(void **state)
{
    (void)state;
    for (unsigned extra = 0; extra < 2; extra++) {
        struct trace_builder b;
        struct xfa_merged event;
        uint64_t count = 0, last = 0, late = 0;
        struct xft_event two[2] = {{.kind = XFT_EVENT_SYNC, .start_ns = 1000},
                                   {.kind = XFT_EVENT_SYNC, .start_ns = 2000}};
        build_start(&b, 7);
        build_meta(&b, "exe", "x");
        for (unsigned lane = 0; lane < XFA_MERGE_OPEN + extra; lane++)
            build_events(&b, lane, 0, two, 2);
        build_close(&b, XFT_STATE_CLOSED, 1);
        struct xfa_trace *trace = open_built(&b);
        struct xfa_merge *merge = xfa_merge_new(trace);
        struct one_by_one events = {.merge = merge};
        for (; one_next(&events, &event); last = event.event->start_ns, count++)
            late += event.event->start_ns < last;
        xfa_merge_free(merge);
        assert_int_equal(count, 2 * (XFA_MERGE_OPEN + (uint64_t)extra));
        assert_int_equal(late, extra);
        assert_int_equal(trace->loss.bad_entries, extra);
        xfa_trace_close(trace);
        build_free(&b);
    }
}

/* ---- keys that meet ------------------------------------------------------------------------- */

/* Chosen so that all fall on the first slots of a table whose hash everybody knows. */
static void test_keys_that_meet(void **state)
{
    enum { KEYS = 4000, SLOTS = 8192 };
    (void)state;
    struct xfa_table table;
    xfa_table_init(&table, sizeof(uint32_t), sizeof(uint32_t));
    for (uint32_t key = 1; table.count < KEYS; key++)
        if ((XXH3_64bits(&key, sizeof key) & (SLOTS - 1)) < 8)
            xfa_table_put(&table, &key);
    assert_int_equal(table.slot_count, SLOTS);
    size_t behind = 0;
    for (size_t i = SLOTS / 2; i < SLOTS; i++)
        behind += table.slots[i].item != 0;
    assert_true(behind > KEYS / 4);
    xfa_table_free(&table);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A terabyte of holes: read byte by byte it would take the processor minutes. */
static void test_holes_of_files(void **state)
{
    (void)state;
    char error[512], path[] = "/tmp/xferscope-XXXXXX";
    struct rlimit limit = {60, RLIM_INFINITY}, before;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    getrlimit(RLIMIT_CPU, &before);
    for (unsigned how = 0; how < SPARSE_HOWS; how++) {
        make_sparse(path, (enum sparse)how, UINT64_C(1) << 40);
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        limit.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + 60;
        assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
        struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
        assert_non_null(trace);
        assert_string_equal(xfa_trace_meta(trace, "exe"), "x");
        assert_int_equal(rows_of(trace), 0);
        bool ill = how == SPARSE_PLAIN || how == SPARSE_ROOM;
        assert_int_equal(is_lossy(trace), ill);
        xfa_trace_close(trace);
    }
    setrlimit(RLIMIT_CPU, &before);
    unlink(path);
}

/* Cut while it is being read: what is missing is counted. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    char error[512], path[] = "/tmp/xferscope-XXXXXX";
    struct trace_builder b;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    scenario_mixed(&b);
    build_save(&b, path);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    assert_non_null(trace);
    uint64_t whole = rows_of(trace);
    assert_false(is_lossy(trace));
    assert_int_equal(ftruncate(fd, XFT_HEADER_BYTES), 0);
    assert_true(rows_of(trace) < whole);
    assert_true(is_lossy(trace));
    xfa_trace_close(trace);
    build_free(&b);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_names_are_bounded),
        cmocka_unit_test(test_what_is_refused_is_said),
        cmocka_unit_test(test_symbols_of_one_address),
        cmocka_unit_test(test_long_pair),
        cmocka_unit_test(test_the_most_regular_run),
        cmocka_unit_test(test_writers_keep_to_it),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_more_lanes_than_are_open),
        cmocka_unit_test(test_keys_that_meet),
        cmocka_unit_test(test_holes_of_files),
        cmocka_unit_test(test_file_that_shrinks),
    };
    return cmocka_run_group_tests_name("analyzer-attacks", tests, NULL, NULL);
}
