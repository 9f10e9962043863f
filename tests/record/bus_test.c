/* A trace that is truncated while it is recorded: the program goes on, the trace can be read and
 * tells of it. And SIGBUS stays what it is to the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/record/lab.h"
#include "xferscope/losses.h"

/* The last 20,000 events came long after the last cut; of those that two threads wrote meanwhile
 * each lost less than two slabs of 2730 at each of the three cuts. */
static void check_cut(size_t least)
{
    assert_int_equal(trace_count, 1);
    assert_int_not_equal(traces[0]->header.pid, 0);
    assert_true(traces[0]->header.damaged_places > 0);
    assert_in_range(lab_count_aux(traces[0], 3), least, 20000);
}

static void test_cut(void **state)
{
    (void)state;
    static char *const lengths[] = {"0", "4096", "5000", "300000", "700000"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(RUN("cut", run_dir, lengths[i]), 0);
        check_cut(20000 - 2 * XFT_SLAB_EVENTS);
        assert_int_equal(traces[0]->header.state, XFT_STATE_CLOSED);
        assert_non_null(strstr(said, "was damaged while it was recorded"));
    }
}

static void test_cut_and_killed(void **state)
{
    (void)state;
    assert_int_equal(RUN("cut", run_dir, "0", "kill"), -SIGKILL);
    check_cut(20000 - 2 * XFT_SLAB_EVENTS);
    assert_int_equal(traces[0]->header.state, XFT_STATE_RECORDING);
    size_t before = traces[0]->count;
    lab_complete(0);
    check_cut(20000 - 2 * XFT_SLAB_EVENTS);
    assert_int_equal(traces[0]->count, before);
}

/* All that was counted, whenever that was. (Of events there is more: what the cut took.) */
static void check_losses(void)
{
    assert_int_equal(trace_count, 1);
    for (int i = 0; i < XFT_LOSS_COUNT; i++) {
        uint64_t counted = xft_loss_of(&traces[0]->header, (enum xft_loss)i);
        if (i == XFT_LOSS_EVENTS)
            assert_in_range(counted, 3, 100);
        else
            assert_int_equal(counted, 3 * (i + 1));
    }
}

static void test_losses_outlive_a_cut(void **state)
{
    (void)state;
    static char *const lengths[] = {"0", "100", "4096", "300000"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(RUN("loses", run_dir, lengths[i]), 0);
        check_losses();
        assert_int_equal(RUN("loses", run_dir, lengths[i], "kill"), -SIGKILL);
        check_losses();
        lab_complete(0);
        check_losses();
    }
}

static void test_own_handler(void **state)
{
    (void)state;
    assert_int_equal(RUN("handled", "before"), 0);
    assert_int_equal(RUN("handled", "after"), 0);
    lab_check_closed(traces[0], 100);
}

static void test_own_default(void **state)
{
    (void)state;
    assert_int_equal(RUN("faults"), -SIGBUS);
    assert_int_equal(RUN("raises"), -SIGBUS);
    assert_int_equal(traces[0]->count, 100);
}

static void test_own_wait(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(RUN("waits"), 0);
    assert_int_equal(RUN("ignores"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_cut_and_killed),
        cmocka_unit_test(test_own_handler), cmocka_unit_test(test_own_default),
        cmocka_unit_test(test_own_wait),    cmocka_unit_test(test_losses_outlive_a_cut),
    };
    subject = BUS_SUBJECT;
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
