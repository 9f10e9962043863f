/* What is taken down of a run's times: bounds of a row, kernels, the span. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/compare/times.h"

static struct xfa_times times;
static struct xfa_observer observer;

static int setup(void **state)
{
    (void)state;
    times = (struct xfa_times){0};
    observer = xfa_times_observer(&times);
    observer.process(observer.self, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    xfa_times_free(&times);
    return 0;
}

static void transfer(uint32_t row, uint64_t bytes, double ns)
{
    const struct xfa_class class = {.row = row};
    const struct xfa_event event = {.start_ns = 1000,
                                    .end_ns = 1100,
                                    .bytes = bytes,
                                    .transfer = {.class = &class, .achieved_ns = ns}};
    observer.transfer(observer.self, &event);
}

static void event(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    const struct xfa_event event = {.kind = (uint8_t)kind, .start_ns = start, .end_ns = end};
    observer.event(observer.self, &event);
}

static struct xfa_bounds bounds_of(uint32_t row)
{
    struct xfa_bounds *all = xfa_times_bounds(&times, row + 1), found = all[row];
    free(all);
    return found;
}

static void assert_bounds(uint32_t row, double low, double high)
{
    struct xfa_bounds found = bounds_of(row);
    if (fabs(found.low - low) > 0.01 * low || fabs(found.high - high) > 0.01 * high)
        fail_msg("%g to %g instead of %g to %g", found.low, found.high, low, high);
}

/* Times 1 to 9 us: a quarter is up to 3, a quarter from 7 on. */
static void test_quarters(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 9; i++)
        transfer(2, 4096, i * 1000.0);
    assert_bounds(2, 9 * 3000, 9 * 7000);
}

/* One that took very long is in the sum, and so in the bounds. */
static void test_the_sum_is_within(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        transfer(0, 4096, i ? 1000 : 100000);
    assert_bounds(0, 8 * 1000, 107000);
}

/* Sizes apart: what small ones took says nothing of large ones. */
static void test_sizes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        transfer(0, 4096, 1000);
        transfer(0, 1 << 20, 50000);
    }
    assert_bounds(0, 510000, 510000);
}

static void test_too_few(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        transfer(0, 4096, 1000);
    assert_true(isnan(bounds_of(0).low));
    assert_true(isnan(bounds_of(1).low)); /* of none */
    for (unsigned i = 0; i < 4; i++)      /* three of another size stay the smaller part */
        transfer(0, 1 << 20, 5000);
    assert_bounds(0, 1500 + 20000, 6000 + 20000);
}

/* Evenly over the run: the first half took 10, the second 20. */
static void test_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100000; i++)
        transfer(0, 4096, i < 50000 ? 10 : 20);
    const struct xfa_size_times *size = xfa_table_at(&times.cells, 0);
    unsigned early = 0;
    assert_true(size->kept > XFA_KEPT_TIMES / 2 && size->kept <= XFA_KEPT_TIMES);
    for (unsigned i = 0; i < size->kept; i++)
        early += size->times[i] == 10;
    assert_true(early >= size->kept / 2 - 1 && early <= size->kept / 2 + 1);
    assert_bounds(0, 1e6, 2e6);
}

static void test_rows_beyond_the_limit(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < XFA_MOST_SIZES + 1; row++)
        for (unsigned i = 0; i < 4; i++)
            transfer(row, 4096, 1000);
    assert_int_equal(times.cells.count, XFA_MOST_SIZES);
    assert_bounds(XFA_MOST_SIZES - 1, 4000, 4000);
    assert_true(isnan(bounds_of(XFA_MOST_SIZES).low));
}

static void test_kernels_and_span(void **state)
{
    (void)state;
    event(XFT_EVENT_SYNC, 100, 900); /* before there is any work */
    event(XFT_EVENT_LAUNCH, 2000, 2100);
    event(XFT_EVENT_KERNEL, 2500, 4000);
    event(XFT_EVENT_KERNEL, 5000, 5500);
    event(XFT_EVENT_SYNC, 3000, 7000);
    observer.end(observer.self, NULL);
    assert_int_equal(times.kernels, 2);
    assert_true(times.kernel_ns == 2000);
    assert_true(times.span_ns == 5000);
    observer.process(observer.self, NULL);
    event(XFT_EVENT_SET, 100, 400);
    observer.end(observer.self, NULL);
    assert_true(times.span_ns == 5300); /* processes added up */
    observer.process(observer.self, NULL);
    observer.end(observer.self, NULL);
    assert_true(times.span_ns == 5300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quarters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_sum_is_within, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_few, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_beyond_the_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernels_and_span, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
