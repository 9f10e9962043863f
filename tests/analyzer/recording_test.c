/* What recording cost: read from META, reckoned over processes, shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define EVENTS 300

/* A process that ran for `ms`. */
static void begin(struct trace_builder *b, int pid)
{
    build_start(b, pid);
    scenario_names(b);
}

static void end(struct trace_builder *b, unsigned ms)
{
    build_close(b, XFT_STATE_CLOSED, TEST_START_NS + ms * 1000000ull);
}

static void cost(struct trace_builder *b, const char *kind, const char *ns, const char *n)
{
    char key[64];
    snprintf(key, sizeof key, "cost.%s.ns", kind);
    if (ns)
        build_meta(b, key, ns);
    snprintf(key, sizeof key, "cost.%s.n", kind);
    if (n)
        build_meta(b, key, n);
}

static void events(struct trace_builder *b, unsigned lane, unsigned kind, unsigned flags,
                   size_t count)
{
    struct xft_event all[EVENTS] = {{0}};
    for (size_t i = 0; i < count; i++) {
        all[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096,
                               TEST_START_NS + 1000 * (i + 1), 100);
        all[i].kind = (uint8_t)kind;
        all[i].flags = (uint8_t)flags;
    }
    build_events(b, lane, 0, all, count);
}

static struct xfa_recording_kind kind_of(const struct analyzed *a, unsigned kind)
{
    return a->analysis->recording.kinds[kind];
}

static void assert_shown(const struct analyzed *a, const char *line)
{
    char *text = analyzed_report(a, &xfa_format_text);
    assert_non_null(strstr(text, line));
    free(text);
}

/* Without a line, and in JSON with nothing but this. */
static void assert_not_shown(const struct analyzed *a, const char *took)
{
    char *text = analyzed_report(a, &xfa_format_text);
    assert_null(strstr(text, "  recording  "));
    free(text);
    text = analyzed_report(a, &xfa_format_json);
    assert_non_null(strstr(text, took));
    free(text);
}

/* Copies of a launched graph are in the launch; what came to little beside the rest is not named,
 * nor is a fourth kind. */
static void test_one_process(void **state)
{
    struct trace_builder b;
    begin(&b, 1);
    cost(&b, "transfer", "400", "3");
    cost(&b, "graph-launch", "6000", "3");
    cost(&b, "sync", "50", "2");
    cost(&b, "query", "70", "4");
    cost(&b, "alloc", "10", "1");
    cost(&b, "launch", "99", "6"); /* none is in the file */
    events(&b, 0, XFT_EVENT_TRANSFER, 0, 100);
    events(&b, 1, XFT_EVENT_GRAPH_LAUNCH, 0, 2);
    events(&b, 2, XFT_EVENT_TRANSFER, XFT_GRAPH, 50);
    events(&b, 3, XFT_EVENT_SYNC, 0, 200);
    events(&b, 4, XFT_EVENT_QUERY, 0, 300);
    events(&b, 5, XFT_EVENT_ALLOC, 0, 20);
    end(&b, 20);
    struct analyzed a = analyzed_trace(&b, NULL);
    assert_int_equal(kind_of(&a, XFT_EVENT_TRANSFER).calls, 100);
    assert_int_equal(kind_of(&a, XFT_EVENT_TRANSFER).samples, 3);
    assert_int_equal(kind_of(&a, XFT_EVENT_LAUNCH).calls, 0);
    assert_true(a.analysis->recording.took_ns == 40000 + 12000 + 10000 + 21000 + 200);
    assert_shown(&a, "  recording    about 400 ns per transfer, 70.0 ns per query, 6.00 us per "
                     "graph-launch; in all\n"
                     "               83.2 us, 0.42 % of the run (CUPTI's own part is not in it)\n");
    char *text = analyzed_report(&a, &xfa_format_json);
    assert_non_null(strstr(text, "\"launch\": {\n          \"ns\": null,"));
    free(text);
    analyzed_free(&a);
    build_free(&b);
}

/* What it does not do at every call, beside the rest. */
static void test_once(void **state)
{
    struct trace_builder b;
    struct xft_event once[] = {{.kind = XFT_EVENT_OVERHEAD,
                                .start_ns = TEST_START_NS + 1000,
                                .end_ns = TEST_START_NS + 31000},
                               {.kind = XFT_EVENT_OVERHEAD,
                                .start_ns = TEST_START_NS + 40000,
                                .end_ns = TEST_START_NS + 50000},
                               {.kind = XFT_EVENT_OVERHEAD, .start_ns = TEST_START_NS + 60000}};
    (void)state;
    begin(&b, 1);
    cost(&b, "sync", "50", "2");
    events(&b, 0, XFT_EVENT_SYNC, 0, 200);
    build_events(&b, 1, 0, once, sizeof once / sizeof *once);
    end(&b, 20);
    struct analyzed a = analyzed_trace(&b, NULL);
    assert_true(a.analysis->recording.took_ns == 10000);
    assert_true(a.analysis->recording.once_ns == 40000);
    assert_shown(&a, "in all 10.0 us, 0.05 % of the run, and 40.0 us once");
    char *text = analyzed_report(&a, &xfa_format_json);
    assert_non_null(strstr(text, "\"once_s\": 4"));
    free(text);
    analyzed_free(&a);
    build_free(&b);
}

/* By their calls, and by the time of those whose cost was recorded. */
static void test_several_processes(void **state)
{
    struct analyzed a = analyzed_start(NULL);
    for (int i = 0; i < 3; i++) {
        struct trace_builder b;
        begin(&b, 10 + i);
        if (i < 2)
            cost(&b, "transfer", i ? "500" : "100", i ? "20" : "4");
        events(&b, 0, XFT_EVENT_TRANSFER, 0, i ? 300 : 100);
        end(&b, i < 2 ? 8 : 1000);
        analyzed_add(&a, &b);
        build_free(&b);
    }
    analyzed_finish(&a);
    assert_int_equal(kind_of(&a, XFT_EVENT_TRANSFER).calls, 400);
    assert_int_equal(kind_of(&a, XFT_EVENT_TRANSFER).samples, 24);
    assert_true(kind_of(&a, XFT_EVENT_TRANSFER).ns == 400);
    assert_shown(&a,
                 "  recording    about 400 ns per transfer; in all 160 us, 1 % of the processes' "
                 "time");
    analyzed_free(&a);
}

/* By the virtual clock it takes nothing; an older recorder did not record it. */
static void test_nothing(void **state)
{
    struct trace_builder b;
    begin(&b, 1);
    cost(&b, "transfer", "0", "30");
    events(&b, 0, XFT_EVENT_TRANSFER, 0, 100);
    end(&b, 20);
    struct analyzed a = analyzed_trace(&b, NULL);
    assert_not_shown(&a, "\"took_s\": 0.0,\n      \"once_s\": 0.0\n    },\n    \"not_counted\"");
    analyzed_free(&a);
    build_free(&b);
    begin(&b, 1);
    events(&b, 0, XFT_EVENT_TRANSFER, 0, 100);
    end(&b, 20);
    a = analyzed_trace(&b, NULL);
    assert_not_shown(&a, "\"kinds\": {},\n      \"took_s\": null");
    analyzed_free(&a);
    build_free(&b);
}

/* No numbers, half of what there is, what is no call, of more than a call can take. */
static void test_senseless(void **state)
{
    struct trace_builder b;
    begin(&b, 1);
    cost(&b, "transfer", "-3", "30");
    cost(&b, "sync", "30", "many");
    cost(&b, "launch", "30", NULL);
    cost(&b, "alloc", NULL, "30");
    cost(&b, "free", "30", "0");
    cost(&b, "query", "99999999999", "30");
    cost(&b, "kernel", "30", "30");
    cost(&b, "nonsense", "30", "30");
    events(&b, 0, XFT_EVENT_TRANSFER, 0, 100);
    events(&b, 1, XFT_EVENT_KERNEL, 0, 100);
    end(&b, 20);
    struct analyzed a = analyzed_trace(&b, NULL);
    assert_not_shown(&a, "\"kinds\": {},\n      \"took_s\": null");
    analyzed_free(&a);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_process),       cmocka_unit_test(test_once),
        cmocka_unit_test(test_several_processes), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_senseless),
    };
    return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
