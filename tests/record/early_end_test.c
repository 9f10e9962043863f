/* A program that ends while the recorder is still getting ready in another thread: its file is
 * completed, and once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/record/lab.h"

static void test_loading(void **state)
{
    (void)state;
    assert_int_equal(RUN("loading"), 0);
    assert_string_equal(said, "");
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], 100);
    assert_non_null(strstr(traces[0]->meta, "exit=exit\n"));
}

static void test_created(void **state)
{
    (void)state;
    assert_int_equal(RUN("created"), 0);
    assert_string_equal(said, "");
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], 100);
    assert_non_null(strstr(traces[0]->meta, "exit=exit\n"));
}

/* It is told at once that nobody else will do it. */
static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN("refused"), 0);
    assert_non_null(strstr(said, "cannot start a thread"));
    assert_null(strstr(said, "names took too long"));
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_created),
        cmocka_unit_test(test_refused),
    };
    subject = EARLY_END_SUBJECT;
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
