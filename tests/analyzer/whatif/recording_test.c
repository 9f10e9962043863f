/* What the recorder does not do at every call, taken out where it happened. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

enum { MOST = 16, END_NS = 100000, USUAL_NS = 500 };

static struct trace_builder b;
static struct xft_event host[MOST];
static size_t hosts, lane_from;
static unsigned lane;
static double span_ns; /* without what recording cost */

static struct xft_event *call(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    host[hosts] = (struct xft_event){
        .kind = (uint8_t)kind, .start_ns = TEST_START_NS + start, .end_ns = TEST_START_NS + end};
    return &host[hosts++];
}

static void overhead(uint64_t start, uint64_t end, unsigned behind)
{
    struct xft_event *event = call(XFT_EVENT_OVERHEAD, start, end);
    event->aux = XFT_OVERHEAD_STACK;
    event->count = behind;
}

/* What comes next is another thread's. */
static void next_thread(void)
{
    build_events(&b, lane++, 0, host + lane_from, hosts - lane_from);
    lane_from = hosts;
}

static void begin(void)
{
    hosts = lane_from = lane = 0;
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "cost.alloc.ns", "500");
    build_meta(&b, "cost.alloc.n", "7");
}

/* How much shorter the run is without what recording cost. */
static double taken_out(void)
{
    next_thread();
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + END_NS);
    struct xfp_profile *profile = scenario_profile();
    struct analyzed a = analyzed_trace(&b, profile);
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, NULL, 0, NULL, NULL, NULL);
    assert_true(whatif->known);
    assert_true(fabs(whatif->replayed_ns - END_NS) < 0.5);
    double ns = END_NS - whatif->alone_ns;
    span_ns = whatif->span.alone_ns;
    xfw_whatif_free(whatif);
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
    return ns;
}

static void calls(void)
{
    call(XFT_EVENT_ALLOC, 10000, 11000);
    call(XFT_EVENT_ALLOC, 60000, 61000);
    call(XFT_EVENT_ALLOC, 80000, 81000);
}

static void test_what_calls_usually_cost(void **state)
{
    (void)state;
    begin();
    calls();
    assert_true(fabs(taken_out() - 2 * USUAL_NS) < 0.5);
}

/* Of one or two samples the median may be of a call with a new stack: no more counts than others
 * cost. */
static void test_few_samples(void **state)
{
    (void)state;
    for (int times = 2; times <= 3; times++) {
        begin();
        build_meta(&b, "cost.free.ns", "4000");
        build_meta(&b, "cost.free.n", times == 2 ? "2" : "3");
        call(XFT_EVENT_FREE, 10000, 11000);
        call(XFT_EVENT_FREE, 60000, 61000);
        assert_true(fabs(taken_out() - (times == 2 ? USUAL_NS : 4000)) < 0.5);
    }
}

/* Behind a call, with what that kind of call usually costs in it; and before one. */
static void test_where_it_happened(void **state)
{
    (void)state;
    begin();
    calls();
    overhead(11000, 51000, XFT_EVENT_ALLOC);
    assert_true(fabs(taken_out() - (40000 + USUAL_NS)) < 0.5);
    begin();
    calls();
    overhead(62000, 72000, 0);
    assert_true(fabs(taken_out() - (10000 + 2 * USUAL_NS)) < 0.5);
}

/* As recording began. */
static void test_before_all_calls(void **state)
{
    (void)state;
    begin();
    calls();
    overhead(1000, 8000, 0);
    assert_true(fabs(taken_out() - (7000 + 2 * USUAL_NS)) < 0.5);
}

static void test_counted_once(void **state)
{
    (void)state;
    begin();
    calls();
    overhead(62000, 72000, 0);
    overhead(63000, 65000, 0);
    overhead(70000, 74000, 0);
    assert_true(fabs(taken_out() - (12000 + 2 * USUAL_NS)) < 0.5);
}

/* Hidden behind the device: the host would have waited. */
static void copy(enum xft_direction direction, uint64_t start, uint64_t end)
{
    struct xft_event *event = call(XFT_EVENT_TRANSFER, start, end);
    event->call = CALL_MEMCPY;
    event->flags = XFT_ASYNC;
    event->direction = (uint8_t)direction;
    event->src_mem = direction == XFT_DIR_H2D ? XFT_MEM_PINNED : XFT_MEM_DEVICE;
    event->dst_mem = direction == XFT_DIR_H2D ? XFT_MEM_DEVICE : XFT_MEM_PINNED;
    event->bytes = 64;
}

/* Of the transfer that began then; took: ns. */
static void hash(uint64_t of_ns, uint32_t took)
{
    call(XFT_EVENT_CONTENT, of_ns, of_ns)->count = took;
}

/* An upload's behind its call; of a download that the host waits for behind that. */
static void test_hashes(void **state)
{
    for (int down = 0; down < 2; down++) {
        begin();
        if (!down)
            hash(10000, 30000);
        copy(down ? XFT_DIR_D2H : XFT_DIR_H2D, 10000, 11000);
        if (down)
            hash(10000, 30000);
        call(XFT_EVENT_SYNC, down ? 12000 : 45000, down ? 13000 : 46000);
        call(XFT_EVENT_ALLOC, 60000, 61000);
        assert_true(fabs(taken_out() - 30000) < 0.5);
    }
    /* The time before the copy was the program's. */
    begin();
    hash(50000, 30000);
    copy(XFT_DIR_H2D, 50000, 51000);
    call(XFT_EVENT_SYNC, 53000, 54000);
    assert_true(fabs(taken_out() - 2000) < 0.5);
    /* Most are hashed: it is in what a call usually costs. */
    begin();
    build_meta(&b, "cost.transfer.ns", "20500");
    build_meta(&b, "cost.transfer.n", "9");
    hash(10000, 30000);
    copy(XFT_DIR_H2D, 10000, 11000);
    call(XFT_EVENT_SYNC, 60000, 61000);
    assert_true(fabs(taken_out() - 30500) < 0.5);
}

static void test_of_a_thread_that_waits(void **state)
{
    (void)state;
    begin();
    call(XFT_EVENT_RECORDS, 1000, 1000)->aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS;
    call(XFT_EVENT_LAUNCH, 10000, 12000)->correlation = 1;
    overhead(12000, 42000, XFT_EVENT_LAUNCH);
    call(XFT_EVENT_SYNC, 43000, 70000)->aux = XFT_SYNC_CONTEXT;
    struct xft_event kernel = {.kind = XFT_EVENT_KERNEL,
                               .start_ns = TEST_START_NS + 15000,
                               .end_ns = TEST_START_NS + 68000,
                               .correlation = 1};
    build_events(&b, 7, 0, &kernel, 1);
    assert_true(fabs(taken_out()) < 0.5);
}

/* Two threads begin at once and wait until the recorder is ready, each for about as long: that is
 * taken out once, and what they do is beside each other as it was when they came. */
static void test_threads_held_up_at_once(void **state)
{
    (void)state;
    begin();
    overhead(1000, 13000, 0);
    call(XFT_EVENT_ALLOC, 13000, 13400);
    next_thread();
    overhead(2000, 14100, 0);
    call(XFT_EVENT_ALLOC, 14100, 18000);
    assert_true(fabs(taken_out() - 12100) <
                0.5); /* the second would have been at it from 2000 on */
}

/* What passed until recording had begun put both threads off. Each then waited for the device's
 * records, the second one from 1000 ns after the first came, whose call that was; it had `worked`
 * before. */
static void test_what_puts_all_threads_off(void **state)
{
    (void)state;
    for (unsigned worked = 0; worked <= 1500; worked += 1500) {
        begin();
        overhead(1000, 8000, 0);
        host[hosts - 1].aux = XFT_OVERHEAD_RECORDING;
        overhead(20000, 30000, 0);
        call(XFT_EVENT_ALLOC, 30000, 40000);
        next_thread();
        overhead(21000, 30500, 0);
        host[hosts - 1].aux = XFT_OVERHEAD_THREAD;
        host[hosts - 1].dst = worked;
        call(XFT_EVENT_ALLOC, 30500, 31000);
        call(XFT_EVENT_SYNC, 90000, 91000);
        assert_true(fabs(taken_out() - (7000 + 9500 + USUAL_NS)) < 0.5);
    }
}

/* One waits while the other, which began later, has calls that need nobody. */
static void test_a_thread_held_up_beside_another(void **state)
{
    (void)state;
    begin();
    call(XFT_EVENT_ALLOC, 10000, 11000);
    overhead(11500, 70000, 0);
    call(XFT_EVENT_LAUNCH, 70000, 71000);
    next_thread();
    call(XFT_EVENT_LAUNCH, 31000, 32000);
    call(XFT_EVENT_LAUNCH, 52000, 53000);
    assert_true(fabs(taken_out() - (END_NS - 52500)) < 0.5);
    assert_true(fabs(span_ns - (52500 - 11000)) < 0.5); /* it begins with the thread that waited */
}

/* Times that cannot be. */
static void test_nonsense(void **state)
{
    (void)state;
    begin();
    calls();
    overhead(51000, 41000, XFT_EVENT_ALLOC);
    overhead(61500, 61600, XFT_EVENT_ALLOC); /* less than usual */
    host[hosts - 1].count = UINT32_MAX;
    assert_true(fabs(taken_out() - (100 + 2 * USUAL_NS)) < 0.5);
    begin();
    calls();
    overhead(61000, 61300, XFT_EVENT_ALLOC);
    assert_true(fabs(taken_out() - 2 * USUAL_NS) < 0.5);
}

/* A process that began 100 ns after another makes the run so much longer, not rounded to what a
 * double has of the time since 1970. */
static void test_two_processes(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct analyzed a = analyzed_start(profile);
    struct trace_builder first;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        first = b;
        begin();
        b.header.start_real_ns = 1800000000000000001 + i * 100;
        call(XFT_EVENT_SYNC, 1000, 2000);
        build_events(&b, 0, 0, host, hosts);
        build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + END_NS);
        analyzed_add(&a, &b);
    }
    analyzed_finish(&a);
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, NULL, 0, NULL, NULL, NULL);
    assert_true(fabs(whatif->recorded_ns - (END_NS + 100)) < 0.5);
    assert_true(fabs(whatif->replayed_ns - (END_NS + 100)) < 0.5);
    xfw_whatif_free(whatif);
    analyzed_free(&a);
    build_free(&first);
    build_free(&b);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_calls_usually_cost),
        cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_where_it_happened),
        cmocka_unit_test(test_before_all_calls),
        cmocka_unit_test(test_counted_once),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_of_a_thread_that_waits),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_threads_held_up_at_once),
        cmocka_unit_test(test_a_thread_held_up_beside_another),
        cmocka_unit_test(test_what_puts_all_threads_off),
        cmocka_unit_test(test_two_processes),
    };
    return cmocka_run_group_tests_name("what if: recording", tests, NULL, NULL);
}
