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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
