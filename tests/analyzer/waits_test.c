/* Where the host waited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"

enum { T0 = 1000000000 };
enum { DEVICE_SYNC = 1, STREAM_SYNC };

static struct xft_event events[16];
static size_t event_count;
static struct trace_builder b;

static void begin(int pid)
{
    event_count = 0;
    build_start(&b, pid);
    build_call(&b, DEVICE_SYNC, XFT_LEVEL_RUNTIME, "cudaDeviceSynchronize");
    build_call(&b, STREAM_SYNC, XFT_LEVEL_RUNTIME, "cudaStreamSynchronize");
}

static void site(unsigned stack, const char *function, unsigned line)
{
    uint64_t address = 0x410000 + 16 * (uint64_t)line;
    build_symbol(&b, address, 0, function, "/src/app.c", line, "/opt/app");
    build_stack(&b, stack, &address, 1);
}

static struct xft_event *wait(unsigned call, unsigned stack, uint64_t at, uint64_t ns)
{
    events[event_count] = (struct xft_event){.kind = XFT_EVENT_SYNC,
                                             .call = (uint16_t)call,
                                             .stack = stack,
                                             .aux = XFT_SYNC_STREAM,
                                             .start_ns = T0 + at,
                                             .end_ns = T0 + at + ns};
    return &events[event_count++];
}

static void add_process(struct analyzed *a)
{
    build_events(&b, 0, 0, events, event_count);
    build_close(&b, XFT_STATE_CLOSED, T0 + 1000000000);
    analyzed_add(a, &b);
    build_free(&b);
}

static void assert_wait(const struct analyzed *a, const struct xfa_wait *wait, const char *at,
                        const char *function, uint64_t times, double ns, double most_ns)
{
    const struct xfa_run *run = a->analysis->run;
    assert_string_equal(xfa_run_site(run, wait->key.site)->text, at);
    assert_string_equal(xfa_run_function(run, wait->key.function)->name, function);
    assert_int_equal(wait->times, times);
    assert_true(wait->ns == ns && wait->most_ns == most_ns);
}

/* By site and function: how often, how long in all, how long at most; longest first. */
static void test_times(void **state)
{
    (void)state;
    struct analyzed a = analyzed_start(NULL);
    begin(1);
    site(1, "step", 10);
    site(2, "finish", 20);
    wait(STREAM_SYNC, 1, 100, 300);
    wait(STREAM_SYNC, 1, 500, 700)->aux = XFT_SYNC_EVENT;
    wait(STREAM_SYNC, 1, 1300, 200)->flags = XFT_FAILED; /* it took its time all the same */
    wait(DEVICE_SYNC, 1, 2000, 50);
    wait(DEVICE_SYNC, 2, 3000, 5000);
    wait(DEVICE_SYNC, 2, 9000, 0)->end_ns = 0; /* not known */
    wait(STREAM_SYNC, 2, 9100, 60000)->kind = XFT_EVENT_QUERY;
    wait(STREAM_SYNC, 2, 9200, 60000)->kind = XFT_EVENT_WAIT; /* a stream waits, not the host */
    add_process(&a);
    analyzed_finish(&a);
    const struct xfa_waits *waits = &a.analysis->waits;
    const struct xfa_wait **order = xfa_waits_order(waits);
    assert_int_equal(waits->all.count, 3);
    assert_wait(&a, order[0], "finish (app.c:20)", "cudaDeviceSynchronize", 2, 5000, 5000);
    assert_wait(&a, order[1], "step (app.c:10)", "cudaStreamSynchronize", 3, 1200, 700);
    assert_wait(&a, order[2], "step (app.c:10)", "cudaDeviceSynchronize", 1, 50, 50);
    free(order);
    analyzed_free(&a);
}

/* The same site in two processes, which have other numbers for stack and call. */
static void test_processes(void **state)
{
    (void)state;
    struct analyzed a = analyzed_start(NULL);
    begin(1);
    site(1, "step", 10);
    wait(STREAM_SYNC, 1, 100, 300);
    wait(DEVICE_SYNC, 1, 1000, 400);
    add_process(&a);
    begin(2);
    site(7, "step", 10);
    build_call(&b, 9, XFT_LEVEL_RUNTIME, "cudaStreamSynchronize");
    wait(9, 7, 50, 100);
    wait(99, 7, 200, 1); /* a call without a name */
    add_process(&a);
    analyzed_finish(&a);
    const struct xfa_waits *waits = &a.analysis->waits;
    const struct xfa_wait **order = xfa_waits_order(waits);
    assert_int_equal(waits->all.count, 3);
    assert_wait(&a, order[0], "step (app.c:10)", "cudaDeviceSynchronize", 1, 400,
                400); /* by name */
    assert_wait(&a, order[1], "step (app.c:10)", "cudaStreamSynchronize", 2, 400, 300);
    assert_wait(&a, order[2], "step (app.c:10)", "(unknown function)", 1, 1, 1);
    free(order);
    analyzed_free(&a);
}

/* Further sites than are kept count to "no call stack", by function. */
static void test_limit(void **state)
{
    (void)state;
    enum { SITES = XFA_MAX_WAITS + 5 };
    struct analyzed a = analyzed_start(NULL);
    struct xft_event *many = calloc(SITES, sizeof *many);
    assert_non_null(many);
    begin(1);
    for (unsigned i = 0; i < SITES; i++) {
        uint64_t address = 0x500000 + i;
        build_stack(&b, 100 + i, &address, 1);
        many[i] = *wait(i < SITES - 2 ? STREAM_SYNC : DEVICE_SYNC, 100 + i, 10 * i, 7);
        event_count = 0;
    }
    wait(STREAM_SYNC, 100, 10 * SITES, 9); /* a known one, once more */
    build_events(&b, 1, 0, many, SITES);
    free(many);
    add_process(&a);
    analyzed_finish(&a);
    const struct xfa_waits *waits = &a.analysis->waits;
    assert_int_equal(waits->all.count, XFA_MAX_WAITS + 2);
    const struct xfa_wait *streams = xfa_table_at(&waits->all, XFA_MAX_WAITS);
    const struct xfa_wait *devices = xfa_table_at(&waits->all, XFA_MAX_WAITS + 1);
    const char *none = xfa_run_site(a.analysis->run, streams->key.site)->text;
    assert_int_equal(xfa_run_site(a.analysis->run, streams->key.site)->chosen, -1);
    assert_wait(&a, streams, none, "cudaStreamSynchronize", 3, 21, 7);
    assert_wait(&a, devices, none, "cudaDeviceSynchronize", 2, 14, 7);
    assert_int_equal(((struct xfa_wait *)xfa_table_at(&waits->all, 0))->times, 2);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
