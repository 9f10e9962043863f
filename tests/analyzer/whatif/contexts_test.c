/* Contexts made within the span: how much of it they take, whatever else goes on, and that the span
 * is without that, as recorded and replayed. */
#include "analyzer/whatif/schedule/contexts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

/* ---- what counts ----------------------------------------------------------------------------- */

static struct xfw_contexts contexts;

static void made(int gpu, double from, double to)
{
    struct xfw_op op = xfw_op_none();
    op.kind = XFT_EVENT_CONTEXT;
    op.gpu = (int16_t)gpu;
    op.start_ns = from + 1000; /* in a schedule it has moved */
    op.end_ns = to + 1000;
    xfw_contexts_make(&contexts, &op, to);
}

static void work(double from, double to)
{
    xfw_contexts_work(&contexts, from, to);
}

static void begin_at(double ns)
{
    contexts = (struct xfw_contexts){0};
    work(ns, ns + 10);
}

static void assert_counted(double ns, uint64_t gpus)
{
    assert_true(contexts.ns == ns);
    assert_int_equal(contexts.gpus, gpus);
}

static void test_between_works(void **state)
{
    (void)state;
    begin_at(0);
    made(1, 20, 120);
    assert_counted(0, 0); /* it may be behind the last one */
    work(200, 210);
    assert_counted(100, 2);
    work(300, 310);
    assert_counted(100, 2);
}

static void test_before_and_behind(void **state)
{
    (void)state;
    contexts = (struct xfw_contexts){0};
    made(0, 0, 50);
    made(1, 60, 100);
    work(200, 210);
    made(1, 220, 300);
    made(2, 320, 400);
    assert_counted(0, 0);
    contexts = (struct xfw_contexts){0};
    made(1, 0, 100); /* another thread's */
    work(40, 50);
    work(90, 95);
    assert_counted(40, 2);
}

static void test_several(void **state)
{
    (void)state;
    begin_at(0);
    made(1, 20, 120);
    made(2, 200, 230);
    work(300, 310);
    assert_counted(130, 6);
    begin_at(0);
    made(1, 20, 120); /* of two threads */
    made(2, 50, 150);
    made(3, 60, 100);
    work(300, 310);
    assert_counted(130, 14);
}

/* A GPU is at work meanwhile, or another thread. */
static void test_beside_work(void **state)
{
    (void)state;
    begin_at(0);
    work(10, 80);
    made(1, 20, 120);
    work(130, 140);
    assert_counted(40, 2);
    begin_at(0);
    made(1, 20, 120);
    work(50, 60);
    work(100, 300);
    assert_counted(30 + 40, 2);
    begin_at(0);
    work(10, 500);
    made(1, 20, 120);
    work(600, 610);
    assert_counted(0, 0);
}

/* ---- of a run -------------------------------------------------------------------------------- */

enum { END_NS = 100000, MOST = 16 };

static struct trace_builder b;
static struct xft_event host[MOST];
static size_t hosts;

static void call(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    host[hosts++] = (struct xft_event){.kind = (uint8_t)kind,
                                       .flags = XFT_STREAM_KNOWN,
                                       .start_ns = TEST_START_NS + start,
                                       .end_ns = TEST_START_NS + end};
}

static void begin(void)
{
    hosts = 0;
    build_start(&b, 1);
    scenario_names(&b);
    call(XFT_EVENT_LAUNCH, 10000, 11000);
}

/* A wait ends it at 82000; of the run without contexts it is so long. */
static void assert_run(double contexts_ns)
{
    call(XFT_EVENT_LAUNCH, 80000, 81000);
    call(XFT_EVENT_SYNC, 81000, 82000);
    call(XFT_EVENT_CONTEXT, 85000, 95000);
    build_events(&b, 0, 0, host, hosts);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + END_NS);
    struct xfp_profile *profile = scenario_profile();
    struct analyzed a = analyzed_trace(&b, profile);
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, NULL, 0, NULL, NULL, NULL);
    const struct xfw_times *span = &whatif->span;
    assert_true(whatif->known);
    assert_true(fabs(whatif->replayed_ns - END_NS) < 0.5); /* the run has them */
    assert_true(fabs(whatif->alone_ns - END_NS) < 0.5);
    assert_true(fabs(span->recorded_ns - (72000 - contexts_ns)) < 0.5);
    assert_true(fabs(span->replayed_ns - (72000 - contexts_ns)) < 0.5);
    assert_true(fabs(span->alone_ns - (72000 - contexts_ns)) < 0.5);
    assert_true(fabs(whatif->contexts_ns - contexts_ns) < 0.5);
    assert_int_equal(whatif->contexts_gpus, contexts_ns > 0 ? 1 : 0);
    xfw_whatif_free(whatif);
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
}

static void test_without(void **state)
{
    (void)state;
    begin();
    assert_run(0);
}

static void test_in_the_threads_own_time(void **state)
{
    (void)state;
    begin();
    call(XFT_EVENT_CONTEXT, 20000, 70000);
    assert_run(50000);
}

/* Its event comes before that of the call. */
static void test_in_a_call(void **state)
{
    (void)state;
    begin();
    call(XFT_EVENT_CONTEXT, 20000, 70000);
    call(XFT_EVENT_ALLOC, 15000, 75000);
    assert_run(50000);
}

/* It is no call: the report counts none. */
static void test_it_is_no_call(void **state)
{
    (void)state;
    assert_false(xfa_is_of_thread(XFT_EVENT_CONTEXT));
    assert_false((XFA_KINDS_OF_CALLS & XFA_KIND(XFT_EVENT_CONTEXT)) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_works), cmocka_unit_test(test_before_and_behind),
        cmocka_unit_test(test_several),       cmocka_unit_test(test_beside_work),
        cmocka_unit_test(test_without),       cmocka_unit_test(test_in_the_threads_own_time),
        cmocka_unit_test(test_in_a_call),     cmocka_unit_test(test_it_is_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
