/* Lines of the report that no trace of a reasonable size reaches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/analyzed.h"
#include "tests/analyzer/scenario.h"

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
    struct xfa_report report = {a->analysis, a->findings};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_many_hosts),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
