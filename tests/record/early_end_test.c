/* A program that ends while the recorder is still getting ready in another thread, or another
 * thread still writes: its file is completed, and once. */
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

/* The thread that makes the file is waited for; each call that comes meanwhile is recorded or
 * counted. The one more is how that thread asks whether recording is on. */
static void check_all_counted(void)
{
    assert_int_equal(trace_count, 1);
    lab_check_closed(traces[0], traces[0]->count);
    assert_in_range(traces[0]->count + traces[0]->header.calls_after_end, 100, 101);
    assert_non_null(strstr(traces[0]->meta, "exit=exit\n"));
}

static void test_created(void **state)
{
    (void)state;
    assert_int_equal(RUN("created"), 0);
    assert_string_equal(said, "");
    check_all_counted();
}

/* It learns at once that nobody else will do it. */
static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN("refused"), 0);
    assert_non_null(strstr(said, "cannot start a thread"));
    assert_null(strstr(said, "names took too long"));
    check_all_counted();
}

/* What it wrote last is in the file once. */
static void test_writing(void **state)
{
    (void)state;
    assert_int_equal(RUN("XFERSCOPE_BUFFER=1K", "writing"), 0);
    assert_int_equal(trace_count, 1);
    assert_int_equal(traces[0]->header.state, XFT_STATE_CLOSED);
    assert_true(decode_is_complete(traces[0]));
    assert_int_equal(traces[0]->count, XFT_SLAB_EVENTS);
    assert_int_equal(traces[0]->segments[XFT_SEG_EVENTS], 1);
    assert_int_equal(traces[0]->count + traces[0]->header.events_lost +
                         traces[0]->header.calls_after_end,
                     20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_created),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_writing),
    };
    subject = EARLY_END_SUBJECT;
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
