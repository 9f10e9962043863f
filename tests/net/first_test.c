/* What the first round trips of device memory took beyond later ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe/net/parts.h"

#define EXCESS(...)                                                                                \
    xfp_net_first_excess((const double[]){__VA_ARGS__},                                            \
                         sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* 7 ms and 3 ms through the host, then CUDA IPC is set up: two rounds that are not like the rest.
 */
static void until_they_are_as_later(void **state)
{
    (void)state;
    assert_true(EXCESS(10000, 1900, 110, 105, 90, 100, 110, 100) == 9900 + 1800);
    assert_true(EXCESS(100, 101, 99, 100, 100, 100, 100, 100) == 0);
    assert_true(EXCESS(130, 20000, 100, 100, 100, 100, 100, 100) == 30 + 19900);
}

/* A round that a busy machine held up, after one like the later ones, is no first one; nor is one
 * of the second half, whose median counts. */
static void not_what_comes_after(void **state)
{
    (void)state;
    assert_true(EXCESS(5000, 110, 9000, 100, 100, 100, 100, 100) == 4900);
    assert_true(EXCESS(5000, 110, 100, 100, 100, 90000, 100, 100) == 4900);
    assert_true(EXCESS(120, 9000, 100, 100, 100, 100, 100, 100) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(until_they_are_as_later),
        cmocka_unit_test(not_what_comes_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
