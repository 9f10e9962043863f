/* What a cgroup's files and the process's limits leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "preload/apply/state/limits.h"

static struct xfs_limits with(unsigned processors, const char *cpu, const char *most,
                              const char *current)
{
    struct xfs_limits limits = {processors, UINT64_MAX};
    xfs_limits_of_group(&limits, cpu, most, current);
    return limits;
}

static void processors(void **state)
{
    (void)state;
    assert_int_equal(with(16, "max 100000\n", "", "").processors, 16);
    assert_int_equal(with(16, "", "", "").processors, 16);
    assert_int_equal(with(16, "400000 100000\n", "", "").processors, 4);
    assert_int_equal(with(16, "250000 100000\n", "", "").processors, 2);
    assert_int_equal(with(16, "50000 100000\n", "", "").processors, 1);
    assert_int_equal(with(2, "400000 100000\n", "", "").processors, 2);
}

static void memory(void **state)
{
    struct xfs_limits limits = with(4, "", "1000000\n", "400000\n");
    (void)state;
    assert_int_equal(limits.memory, 600000);
    xfs_limits_of_group(&limits, "", "max\n", "900000\n"); /* the group above it */
    assert_int_equal(limits.memory, 600000);
    xfs_limits_of_group(&limits, "", "1000000\n", "1100000\n");
    assert_int_equal(limits.memory, 0);
}

static void own_limits(void **state)
{
    struct xfs_limits limits;
    struct rlimit before, low = {(rlim_t)1 << 40, RLIM_INFINITY};
    (void)state;
    xfs_limits_read(&limits);
    assert_true(limits.processors >= 1);
    getrlimit(RLIMIT_AS, &before);
    low.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    xfs_limits_read(&limits);
    setrlimit(RLIMIT_AS, &before);
    assert_true(limits.memory < (uint64_t)1 << 40);
}

/* Without a descriptor nothing is begun, as with one processor. */
static void no_descriptors(void **state)
{
    struct xfs_limits limits;
    struct rlimit before, none;
    (void)state;
    xfs_limits_read(&limits);
    if (limits.processors == 1)
        skip();
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    xfs_limits_read(&limits);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(limits.processors, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors),
        cmocka_unit_test(memory),
        cmocka_unit_test(own_limits),
        cmocka_unit_test(no_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
