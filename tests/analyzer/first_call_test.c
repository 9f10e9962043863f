/* A process's first call: what of it made the context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/pass/first_call.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { MS = 1000000, CALL = 20000, SITE = 10 };

struct call {
    uint8_t kind;
    uint64_t start_ns, end_ns, bytes, begins_ns;
};

/* When each of them begins. */
static void check(const struct call *calls, size_t count)
{
    struct xfa_first_call first = {.called = false};
    for (size_t i = 0; i < count; i++) {
        struct xfa_event event = {.kind = calls[i].kind,
                                  .start_ns = calls[i].start_ns,
                                  .end_ns = calls[i].end_ns,
                                  .bytes = calls[i].bytes};
        xfa_first_call_take(&first, &event);
        assert_int_equal(event.start_ns, calls[i].begins_ns);
        assert_int_equal(event.end_ns, calls[i].end_ns);
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        const struct call calls[] = {__VA_ARGS__};                                                 \
        check(calls, sizeof calls / sizeof *calls);                                                \
    } while (0)

static void test_makes_the_context(void **state)
{
    (void)state;
    CHECK({XFT_EVENT_RANGE_BEGIN, 10, 10, 0, 10},
          {XFT_EVENT_TRANSFER, 10, 230 * MS, 176, 230 * MS - CALL - 176},
          {XFT_EVENT_TRANSFER, 231 * MS, 400 * MS, 176, 231 * MS});
    CHECK({XFT_EVENT_LAUNCH, 10, 230 * MS, 0, 230 * MS - CALL});
    CHECK({XFT_EVENT_SET, 10, 230 * MS, 0, 230 * MS - CALL});
}

static void test_takes_so_long_itself(void **state)
{
    (void)state;
    CHECK({XFT_EVENT_TRANSFER, 10, 40 * MS, 176, 10}); /* too little for a context */
    CHECK({XFT_EVENT_TRANSFER, 10, 230 * MS, 200 * MS, 10});
    CHECK({XFT_EVENT_TRANSFER, 10, 0, 176, 10}); /* its end is not known */
}

static void test_another_made_it(void **state)
{
    (void)state;
    CHECK({XFT_EVENT_ALLOC, 10, 230 * MS, 4096, 10}, {XFT_EVENT_TRANSFER, 20, 231 * MS, 176, 20});
    CHECK({XFT_EVENT_SYNC, 10, 20, 0, 10}, {XFT_EVENT_TRANSFER, 30, 231 * MS, 176, 30});
}

/* Those of other threads, as far as they move or launch something. */
static void test_waits_for_the_context(void **state)
{
    const uint64_t ready = 230 * MS - CALL - 176;
    (void)state;
    CHECK({XFT_EVENT_TRANSFER, 10, 230 * MS, 176, ready},
          {XFT_EVENT_LAUNCH, 20, 231 * MS, 0, ready}, {XFT_EVENT_ALLOC, 30, 232 * MS, 64, 30},
          {XFT_EVENT_SET, 40, 50, 0, 50});
}

/* It is no loss of the copy's, and no part of the run that is predicted. */
static void test_report(void **state)
{
    struct trace_builder b;
    struct play play;
    (void)state;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "parameters", 1);
    play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 4096, 230 * MS);
    for (unsigned i = 0; i < 10; i++)
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, (uint64_t)PAGEABLE_NS);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_played(&b, measured_profile(MEASURED_ALL));
    assert_true(xfa_lost_ns(analyzed_figures(&a, 0)) < 2 * MS);
    assert_true(a.findings->whatif->span.recorded_ns < 2 * MS);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makes_the_context),
        cmocka_unit_test(test_takes_so_long_itself),
        cmocka_unit_test(test_another_made_it),
        cmocka_unit_test(test_waits_for_the_context),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests_name("first call", tests, NULL, NULL);
}
