/* Rows that are unpacked in a thread of their own are those of the merge, in its order
 * (analyzer/pass/ahead.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/pass/ahead.h"
#include "tests/analyzer/traces/build_trace.h"

enum { LANES = 3, CHUNKS = 40, ROWS = 700 };

static struct xft_event events[ROWS];

/* Lanes whose rows alternate; damaged: one chunk of them cannot be read. */
static struct xfa_trace *open_built(struct trace_builder *b, bool damaged)
{
    char error[512] = "";
    build_start(b, 4711);
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
        for (uint64_t lane = 0; lane < LANES; lane++) {
            for (uint64_t i = 0; i < ROWS; i++)
                events[i] = test_transfer(1, XFT_DIR_H2D, XFT_MEM_PINNED, i,
                                          TEST_START_NS + (chunk * ROWS + i) * 100 + lane, 5);
            build_events(b, (uint32_t)lane, chunk * ROWS, events, ROWS);
        }
        if (damaged && chunk == CHUNKS - 1)
            b->bytes[b->size - 20] ^= 1;
    }
    build_close(b, XFT_STATE_CLOSED, 0);
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    assert_non_null(trace);
    return trace;
}

static void assert_same_row(const struct xfa_merged *a, const struct xfa_merged *b)
{
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->lane, b->lane);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->last, b->last);
    assert_memory_equal(a->event, b->event, sizeof *a->event);
}

/* The merge's own, one after the other. */
struct own {
    struct xfa_merge *merge;
    const struct xfa_merged *rows;
    size_t left;
};

static const struct xfa_merged *own_next(struct own *own)
{
    if (own->left == 0)
        own->left = xfa_merge_next_batch(own->merge, &own->rows);
    if (own->left == 0)
        return NULL;
    own->left--;
    return own->rows++;
}

static void check(bool threaded, bool damaged)
{
    struct trace_builder b[2];
    struct xfa_trace *expected = open_built(&b[0], damaged), *trace = open_built(&b[1], damaged);
    struct own own = {.merge = xfa_merge_new(expected)};
    struct xfa_ahead *ahead = xfa_ahead_new(xfa_merge_new(trace), threaded);
    const struct xfa_merged *rows;
    size_t all = 0;
    for (size_t count; (count = xfa_ahead_next(ahead, &rows)) > 0; all += count) {
        assert_true(xfa_ahead_part(ahead) > 0);
        for (size_t i = 0; i < count; i++) {
            const struct xfa_merged *row = own_next(&own);
            assert_non_null(row);
            assert_same_row(&rows[i], row);
        }
    }
    assert_null(own_next(&own));
    assert_int_equal(xfa_ahead_next(ahead, &rows), 0);
    assert_true(xfa_ahead_part(ahead) == 1);
    assert_int_equal(all, LANES * CHUNKS * ROWS - (damaged ? ROWS : 0));
    xfa_ahead_free(ahead);
    xfa_merge_free(own.merge);
    assert_memory_equal(&trace->loss, &expected->loss, sizeof trace->loss);
    for (size_t i = 0; i < 2; i++)
        build_free(&b[i]);
    xfa_trace_close(trace);
    xfa_trace_close(expected);
}

static void test_the_same(void **state)
{
    (void)state;
    for (int damaged = 0; damaged < 2; damaged++)
        for (int threaded = 0; threaded < 2; threaded++)
            check(threaded, damaged);
}

/* So many rows are asked for, and no more. */
static void test_stopped(void **state)
{
    static const size_t most[] = {0, 1, 5000, 30000, 60000};
    (void)state;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        struct trace_builder b;
        struct xfa_trace *trace = open_built(&b, false);
        struct xfa_ahead *ahead = xfa_ahead_new(xfa_merge_new(trace), true);
        const struct xfa_merged *rows;
        for (size_t got = 0; got < most[i];)
            got += xfa_ahead_next(ahead, &rows);
        xfa_ahead_free(ahead);
        xfa_trace_close(trace);
        build_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same),
        cmocka_unit_test(test_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
