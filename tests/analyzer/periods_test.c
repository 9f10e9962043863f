/* Recording that was limited to parts of the run: how long they were, and what the rest takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/run/periods.h"
#include "analyzer/run/run.h"
#include "tests/analyzer/traces/scenario.h"

#define AT(ns) (TEST_START_NS + (ns))
#define END 20000

static struct {
    struct xft_event events[32];
    size_t count;
    struct trace_builder b;
    struct xfa_run *run;
} it;

static void turn(enum xft_period what, uint64_t ns)
{
    it.events[it.count++] = (struct xft_event){
        .kind = XFT_EVENT_PERIOD, .aux = what, .start_ns = AT(ns), .end_ns = AT(ns)};
}

static void did(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    it.events[it.count++] =
        (struct xft_event){.kind = (uint8_t)kind, .start_ns = AT(start), .end_ns = AT(end)};
}

static void setup_trace(const char *key, const char *value)
{
    it.count = 0;
    build_start(&it.b, 1);
    if (key)
        build_meta(&it.b, key, value);
}

static const struct xfa_periods *read_it(void)
{
    char error[256];
    build_events(&it.b, 0, 0, it.events, it.count);
    build_close(&it.b, XFT_STATE_CLOSED, AT(END));
    it.run = xfa_run_new("test");
    struct xfa_process *process =
        xfa_run_open_bytes(it.run, it.b.bytes, it.b.size, error, sizeof error);
    assert_non_null(process);
    return process->periods;
}

static void forget_it(void)
{
    xfa_run_free(it.run);
    build_free(&it.b);
}

static void assert_at(const struct xfa_periods *periods, uint64_t ns, uint64_t wanted)
{
    assert_int_equal(xfa_periods_ns(periods, AT(ns)), AT(wanted));
}

static void test_not_limited(void **state)
{
    (void)state;
    setup_trace(NULL, NULL);
    did(XFT_EVENT_SYNC, 1000, 2000);
    assert_null(read_it());
    forget_it();
}

/* 1000 to 3000, and 10000 to 12500: what lies between takes no time. */
static void test_two(void **state)
{
    (void)state;
    setup_trace("periods.phase", "step");
    turn(XFT_PERIOD_BEGINS, 1000);
    turn(XFT_PERIOD_ENDS, 3000);
    turn(XFT_PERIOD_BEGINS, 10000);
    turn(XFT_PERIOD_ENDS, 12500);
    const struct xfa_periods *periods = read_it();
    assert_int_equal(periods->count, 2);
    assert_string_equal(periods->phase, "step");
    assert_int_equal(periods->recorded_ns, 2000 + 2500);
    assert_int_equal(periods->process_ns, END);
    assert_int_equal(periods->full_ns, 0);
    assert_false(periods->none);
    assert_int_equal(xfa_periods_ns(periods, 0), 0);
    assert_at(periods, 500, 1000); /* before all: the process begins with the first */
    assert_at(periods, 1000, 1000);
    assert_at(periods, 2900, 2900);
    assert_at(periods, 7000, 3000); /* between: where the two meet */
    assert_at(periods, 10000, 3000);
    assert_at(periods, 10001, 3001);
    assert_at(periods, 12500, 5500);
    assert_at(periods, 19000, 5500);
    forget_it();
}

/* What the device did for calls of a period belongs to it, as far as the next one goes back. */
static void test_the_device_was_longer(void **state)
{
    (void)state;
    setup_trace("periods.duration_ns", "2000");
    turn(XFT_PERIOD_BEGINS, 1000);
    did(XFT_EVENT_KERNEL, 2500, 4200);
    did(XFT_EVENT_MIGRATION, 2500, 4800); /* of no call */
    turn(XFT_PERIOD_ENDS, 3000);
    turn(XFT_PERIOD_BEGINS, 6000);
    did(XFT_EVENT_DEVICE_COPY, 6500, 9500);
    turn(XFT_PERIOD_ENDS, 7000);
    turn(XFT_PERIOD_BEGINS, 8000);
    turn(XFT_PERIOD_ENDS, 9000);
    const struct xfa_periods *periods = read_it();
    assert_int_equal(periods->duration_ns, 2000);
    assert_int_equal(periods->count, 3);
    assert_int_equal(periods->all[0].until_ns, AT(4200));
    assert_int_equal(periods->all[1].until_ns, AT(8000));
    assert_int_equal(periods->recorded_ns, 3200 + 2000 + 1000);
    assert_at(periods, 6000, 4200);
    assert_at(periods, 8500, 8500 - 1800);
    forget_it();
}

/* An end that is missing: the last goes on to the end of what is known, an earlier one to the next
 * end. */
static void test_without_an_end(void **state)
{
    (void)state;
    setup_trace("periods.delay_ns", "1000");
    turn(XFT_PERIOD_BEGINS, 1000);
    turn(XFT_PERIOD_BEGINS, 4000);
    turn(XFT_PERIOD_ENDS, 5000);
    turn(XFT_PERIOD_BEGINS, 9000);
    did(XFT_EVENT_SYNC, 19000, END + 500); /* the file's end was an estimate */
    const struct xfa_periods *periods = read_it();
    assert_int_equal(periods->delay_ns, 1000);
    assert_int_equal(periods->count, 2);
    assert_int_equal(periods->process_ns, END + 500);
    assert_int_equal(periods->recorded_ns, 4000 + END + 500 - 9000);
    forget_it();
}

static void test_full(void **state)
{
    (void)state;
    setup_trace("periods.max_bytes", "1048576");
    turn(XFT_PERIOD_BEGINS, 0);
    turn(XFT_PERIOD_FULL, 7000);
    const struct xfa_periods *periods = read_it();
    assert_int_equal(periods->max_bytes, 1048576);
    assert_int_equal(periods->full_ns, 7000);
    assert_int_equal(periods->recorded_ns, 7000);
    forget_it();
}

/* Nothing was recorded of what the program did: all there is takes no time. */
static void test_none(void **state)
{
    (void)state;
    setup_trace("periods.delay_ns", "5000000000");
    did(XFT_EVENT_ALLOC, 3000, 4000);
    const struct xfa_periods *periods = read_it();
    assert_true(periods->none);
    assert_int_equal(periods->count, 1);
    assert_int_equal(periods->recorded_ns, 0);
    assert_int_equal(periods->process_ns, END);
    assert_at(periods, 4000, 0);
    forget_it();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_limited),
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_the_device_was_longer),
        cmocka_unit_test(test_without_an_end),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
