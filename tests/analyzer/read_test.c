/* The reader: events of segments and slabs, names, what is missing, versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/read/read.h"
#include "tests/analyzer/lab/lossy.h"
#include "tests/analyzer/gather.h"
#include "tests/analyzer/traces/scenario.h"

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
    assert_false(is_lossy(trace));
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

static void add_source(struct trace_builder *b, uint32_t line, const char *file, const char *text,
                       uint32_t text_bytes)
{
    static unsigned char entry[sizeof(struct xft_source) + 64 + XFT_SOURCE_MOST + 1];
    const struct xft_source head = {
        .line = line, .file_bytes = (uint32_t)strlen(file), .text_bytes = text_bytes};
    unsigned char *end = mempcpy(entry, &head, sizeof head);
    end = mempcpy(end, file, head.file_bytes);
    end = mempcpy(end, text, text_bytes);
    build_segment(b, XFT_SEG_SOURCES, entry, (size_t)(end - entry));
}

static void assert_line(const struct xfa_trace *trace, const char *file, uint32_t line,
                        const char *wanted)
{
    size_t bytes = 0;
    const char *found = xfa_trace_source_line(trace, file, strlen(file), line, &bytes);
    if (!wanted) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(bytes, strlen(wanted));
    assert_memory_equal(found, wanted, bytes);
}

static void test_source_lines(void **state)
{
    static char huge[XFT_SOURCE_MOST + 1];
    struct trace_builder b;
    (void)state;
    memset(huge, 'x', sizeof huge);
    build_start(&b, 7);
    add_source(&b, 20, "/w/b.c", "twenty\n\ntwentytwo", 17);
    add_source(&b, 9, "/w/a.c", "nine\nten", 8);
    add_source(&b, 30, "/w/b.c", "", 0);
    add_source(&b, UINT32_MAX, "/w/b.c", "last\nbeyond", 11);
    add_source(&b, 1, "/w/c.c", huge, sizeof huge); /* longer than any writer's */
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    assert_line(trace, "/w/a.c", 8, NULL);
    assert_line(trace, "/w/a.c", 9, "nine");
    assert_line(trace, "/w/a.c", 10, "ten");
    assert_line(trace, "/w/a.c", 11, NULL);
    assert_line(trace, "/w/b.c", 20, "twenty");
    assert_line(trace, "/w/b.c", 21, "");
    assert_line(trace, "/w/b.c", 22, "twentytwo");
    assert_line(trace, "/w/b.c", 23, NULL);
    assert_line(trace, "/w/b.c", 30, "");
    assert_line(trace, "/w/b.c", UINT32_MAX, "last");
    assert_line(trace, "/w/b.c", 0, NULL);
    assert_line(trace, "/w/b", 20, NULL);
    assert_line(trace, "/w/c.c", 1, NULL);
    assert_int_equal(trace->loss.bad_entries, 1);
    xfa_trace_close(trace);
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
    assert_false(is_lossy(cut));
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
    assert_false(is_lossy(trace));
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
    assert_int_equal(all.count, 0); /* which of its rows were written is unknown */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_slabs_once_each),
        cmocka_unit_test(test_gaps_are_counted),
        cmocka_unit_test(test_unknown_segment_is_skipped),
        cmocka_unit_test(test_longer_events_in_slabs),
        cmocka_unit_test(test_slab_claims_too_much),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_later_meta_replaces),
        cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_newer_version),
    };
    return cmocka_run_group_tests_name("analyzer-read", tests, NULL, NULL);
}
