/* `record` completes a run whose process ends just as it is asked whether it still records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "preload/format/finish_file.h"
#include "tests/record/lab.h"
#include "tools/xferscope/rundir.h"

static int refusals;

int __real_xfs_finish_file(const char *path, struct xfs_known *known, char *error,
                           size_t error_bytes);
int __wrap_xfs_finish_file(const char *path, struct xfs_known *known, char *error,
                           size_t error_bytes);
int __wrap_xfs_finish_file(const char *path, struct xfs_known *known, char *error,
                           size_t error_bytes)
{
    if (refusals-- <= 0)
        return __real_xfs_finish_file(path, known, error, error_bytes);
    snprintf(error, error_bytes, "still recording");
    return -1;
}

static struct rundir_totals complete(int refused)
{
    static struct rundir_totals totals;
    struct rundir dir = {.folder = -1};
    snprintf(dir.path, sizeof dir.path, "%s", run_dir);
    assert_int_equal(RUN("XFERSCOPE_RUN=this", "ends-at-once", "3000"), 3);
    refusals = refused;
    rundir_complete(&dir, "this", true, &totals);
    lab_read_traces();
    return totals;
}

static void test_ended_meanwhile(void **state)
{
    (void)state;
    struct rundir_totals totals = complete(1);
    assert_int_equal(totals.failed, 0);
    assert_int_equal(totals.running, 0);
    assert_int_equal(totals.processes, 1);
    assert_int_equal(totals.events, 3000);
    lab_check_closed(traces[0], 3000);
}

/* A trace that cannot be completed is named, and read as it is. */
static void test_cannot(void **state)
{
    (void)state;
    struct rundir_totals totals = complete(2);
    assert_int_equal(totals.failed, 1);
    assert_string_equal(totals.error, "still recording");
    assert_int_equal(totals.running, 0);
    assert_int_equal(totals.events, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_meanwhile),
        cmocka_unit_test(test_cannot),
    };
    return cmocka_run_group_tests(tests, lab_make_place, lab_remove_place);
}
