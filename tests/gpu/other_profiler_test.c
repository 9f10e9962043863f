/* What another profiler's subscription tells the recorder, and that it reaches CUPTI unchanged. */
#include "preload/timing/other_profiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/log.h"
#include "preload/lookup/runtime.h"
#include "preload/timing/timing.h"
#include "xferscope/cupti_abi.h"

static int yields, shares_last; /* how often, and the last argument */
static const void *parameters_seen;

void xfs_timing_yield(bool shares)
{
    yields++;
    shares_last = shares;
}

void xfs_verbose(const char *format, ...)
{
}

void *xfs_real_runtime_special(const char *name, const void *own, const void *caller)
{
    return NULL; /* no library's dependency leads to CUPTI */
}

static int real_first(void **subscriber, void (*callback)(void), void *user)
{
    return 39;
}

static int real_second(void **subscriber, void (*callback)(void), void *user, void *parameters)
{
    parameters_seen = parameters;
    return 27;
}

static void assert_yielded(bool shares)
{
    assert_int_equal(yields, 1);
    assert_int_equal(shares_last, shares);
    yields = 0;
}

static void test_none(void **state)
{
    assert_int_equal(cuptiSubscribe(NULL, NULL, NULL), 15); /* CUPTI_ERROR_NOT_INITIALIZED */
    assert_int_equal(yields, 0);
}

static void test_first_kind(void **state)
{
    xfs_found_cuptiSubscribe((void *)real_first);
    assert_int_equal(cuptiSubscribe(NULL, NULL, NULL), 39);
    assert_yielded(false);
}

static void test_second_kind(void **state)
{
    struct xcp_subscriber_params params = {.struct_size = sizeof params, .several = 1};
    xfs_found_cuptiSubscribe_v2((void *)real_second);
    assert_int_equal(cuptiSubscribe_v2(NULL, NULL, NULL, &params), 27);
    assert_ptr_equal(parameters_seen, &params);
    assert_yielded(true);
    params.several = 0;
    cuptiSubscribe_v2(NULL, NULL, NULL, &params);
    assert_yielded(false);
}

/* Of CUDA 13.1 and before: what lies behind it is not the caller's answer. */
static void test_short_parameters(void **state)
{
    struct xcp_subscriber_params params = {
        .struct_size = offsetof(struct xcp_subscriber_params, several), .several = 1};
    xfs_found_cuptiSubscribe_v2((void *)real_second);
    cuptiSubscribe_v2(NULL, NULL, NULL, &params);
    assert_yielded(false);
    cuptiSubscribe_v2(NULL, NULL, NULL, NULL);
    assert_yielded(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_first_kind),
        cmocka_unit_test(test_second_kind),
        cmocka_unit_test(test_short_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
