/* The reader and damaged or hostile files: what is lost is counted, memory stays bounded. */
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
#include "tests/analyzer/lab/memory.h"
#include "tests/analyzer/traces/scenario.h"

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
    *lossy = is_lossy(trace);
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

/* ---- memory --------------------------------------------------------------------------- */

/* Frames that say, or hold, far more than the file is long. */
static void test_bombs_stay_small(void **state)
{
    struct trace_builder b;
    struct gathered all = {0};
    enum { RAW = 40 << 20, FRAMES = 50, PLACE = XFT_LISTS_MOST / RAW };
    unsigned char *raw = calloc(1, RAW);
    size_t bound = ZSTD_compressBound(RAW);
    unsigned char *packed = malloc(bound);
    for (uint32_t i = 0; i < RAW; i += 2048) /* as far as a segment may unfold */
        memcpy(raw + i, &(uint32_t){i * 2654435761u}, 4);
    size_t stored = ZSTD_compress(packed, bound, raw, RAW, 1);
    free(raw);
    assert_true(xft_unfold_most(stored) > RAW);
    long before = peak_kib();
    build_start(&b, 7);
    build_meta(&b, "exe", "x");
    for (int i = 0; i < FRAMES; i++) /* 2 GB of stacks with depth 0 */
        build_plain_segment(&b, XFT_SEG_STACKS, XFT_SEG_ZSTD, packed, stored, RAW);
    build_plain_segment(&b, XFT_SEG_EVENTS, XFT_SEG_ZSTD, packed, stored, RAW);
    build_plain_segment(&b, XFT_SEG_SYMBOLS, XFT_SEG_ZSTD, packed, stored, 1ull << 60);
    build_plain_segment(&b, XFT_SEG_INDEX, XFT_SEG_ZSTD, packed, stored, RAW);
    build_close(&b, XFT_STATE_CLOSED, 1);
    struct xfa_trace *trace = open_built(&b);
    xfa_trace_events(trace, gather, &all);
    assert_int_equal(all.count, 0);
    assert_int_equal(trace->loss.limited_segments,
                     FRAMES - PLACE + 2); /* an INDEX can be done without */
    assert_int_equal(trace->loss.damaged_segments, 0);
    xfa_trace_close(trace);
    assert_true(peak_kib() - before < MOST_KIB);
    free(packed);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_every_byte),     cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_reads_on_after_damage), cmocka_unit_test(test_damage_up_to_a_block),
        cmocka_unit_test(test_bombs_stay_small),
    };
    return cmocka_run_group_tests_name("analyzer-damage", tests, NULL, NULL);
}
