/* SIGBUS as programs use it that have handlers of their own: each sees and gets what it would
 * without us, and outlives a cut of its trace all the same. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/record/lab.h"

static void test_as_without_us(void **state)
{
    (void)state;
    static char *const modes[] = {"jumps", "vforks", "inherits", "sees",
                                  "kin",   "past",   "races",    "queues"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int status = RUN(modes[i], run_dir);
        if (status != 0)
            print_error("%s: %d, %s\n", modes[i], status, said);
        assert_int_equal(status, 0);
        assert_true(trace_count >= 1);
    }
}

static void test_ends_as_without_us(void **state)
{
    (void)state;
    assert_int_equal(RUN("restores", run_dir), -SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_without_us),
        cmocka_unit_test(test_ends_as_without_us),
    };
    subject = BUS_SUBJECT;
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
