/* Lines of the report that no trace of a reasonable size reaches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

static void test_late(void **state)
{
    struct trace_builder b;
    scenario_mixed(&b);
    struct analyzed a = analyzed_trace(&b, NULL);
    char *text = analyzed_report(&a, &xfa_format_text);
    assert_null(strstr(text, "too late"));
    free(text);
    a.analysis->counts.late = 17;
    text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(
        text,
        "  not counted  device times that came too late for their call, or not at all: 17\n"));
    free(text);
    text = analyzed_report(&a, &xfa_format_json);
    assert_non_null(strstr(text, "\"late\": 17"));
    free(text);
    analyzed_free(&a);
    build_free(&b);
}

static char *short_report(const struct analyzed *a)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct xfa_report report = {.analysis = a->analysis, .findings = a->findings};
    assert_non_null(out);
    xfa_format_text.write(&report, &(struct xfa_view){.width = 100, .top = 20}, out);
    fclose(out);
    return text;
}

/* Of hosts and GPUs as many as are of use, and how many more; all when all rows are asked for. */
static void test_many_hosts(void **state)
{
    struct analyzed a = analyzed_start(NULL);
    char name[32];
    for (unsigned host = 0; host < 12; host++) {
        struct trace_builder b;
        build_start(&b, 100 + (int)host);
        snprintf(name, sizeof name, "node%02u", host);
        build_meta(&b, "hostname", name);
        for (unsigned gpu = 0; gpu < 6; gpu++) {
            snprintf(name, sizeof name, "gpu.%u.name", gpu);
            build_meta(&b, name, "Test GPU");
        }
        build_close(&b, XFT_STATE_CLOSED, 0);
        analyzed_add(&a, &b);
        build_free(&b);
    }
    analyzed_finish(&a);
    char *text = short_report(&a);
    assert_non_null(strstr(text, "  host         node00, node01, node02, node03, node04, node05, "
                                 "node06, node07, node08, node09,"));
    assert_non_null(strstr(text, "... and 2 more\n"));
    assert_null(strstr(text, "node11\n"));
    assert_non_null(strstr(text, "               63: Test GPU, node10\n"
                                 "  ... and 8 more (--top 0 shows all)\n"));
    free(text);
    text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(text, "node10, node11\n"));
    assert_non_null(strstr(text, "               71: Test GPU, node11\n  wall time"));
    free(text);
    analyzed_free(&a);
}

/* A list of a run's transfers that ends early: how many of them were met then. */
static uint64_t met_by(struct xfa_per_transfer list)
{
    enum { TRANSFERS = 100000 };
    char error[256];
    struct trace_builder b;
    struct xfa_observer observer = xfa_per_transfer_observer(&list);
    struct xfa_request request = {.path = "test", .observers = &observer, .observer_count = 1};
    scenario_many(&b, TRANSFERS);
    list.analysis = xfa_analysis_new(&request);
    list.format = &xfa_per_transfer_text;
    assert_true(xfa_analysis_add_bytes(list.analysis, b.bytes, b.size, error, sizeof error));
    xfa_analysis_finish(list.analysis);
    uint64_t met = list.analysis->transfers[0];
    assert_int_equal(list.analysis->stopped, met < TRANSFERS);
    assert_true(list.failed || list.written == (list.limit ? list.limit : TRANSFERS));
    xfa_analysis_free(list.analysis);
    xfa_per_transfer_free(&list);
    fclose(list.out);
    build_free(&b);
    return met;
}

/* Nobody waits for what nobody reads: where no more lines are wanted, or none can be written, no
 * more events are met than lie ready. */
static void test_list_ends_early(void **state)
{
    uint64_t all = met_by((struct xfa_per_transfer){.out = fopen("/dev/null", "w")});
    assert_int_equal(all, 100000);
    uint64_t met = met_by((struct xfa_per_transfer){.out = fopen("/dev/null", "w"), .limit = 5});
    assert_in_range(met, 5, all / 4);
    met = met_by((struct xfa_per_transfer){.out = fopen("/dev/full", "w")});
    assert_in_range(met, 1, all / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_many_hosts),
        cmocka_unit_test(test_list_ends_early),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
