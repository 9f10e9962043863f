/*
 * What something adds is a difference of two times: what chance brings below 0 becomes 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "probe/measure/results.h"

static struct xfp_session session;

static int begin(void **state)
{
    session.profile = calloc(1, sizeof(*session.profile));
    return !session.profile;
}

static int end(void **state)
{
    xfp_free(session.profile);
    session = (struct xfp_session){0};
    return 0;
}

static const struct xfp_cost *add(struct xfp_stats stats)
{
    assert_int_equal(xfp_add_added(&session, &stats, "records/%s", "a"), 0);
    assert_int_equal(session.profile->scalar_count, 1);
    assert_int_equal(session.results, 1);
    assert_string_equal(session.profile->scalars[0].name, "records/a");
    return &session.profile->scalars[0].cost;
}

static void above_0_it_stays(void **state)
{
    const struct xfp_cost *c = add((struct xfp_stats){9, 40, 10, 90, 30, 50});

    assert_int_equal(c->n, 9);
    assert_float_equal(c->median, 40, 0);
    assert_float_equal(c->min, 10, 0);
    assert_float_equal(c->max, 90, 0);
    assert_float_equal(c->ci_low, 30, 0);
    assert_float_equal(c->ci_high, 50, 0);
}

static void below_it_is_0(void **state)
{
    const struct xfp_cost *c = add((struct xfp_stats){9, -4, -30, 60, -20, 3});

    assert_float_equal(c->median, 0, 0);
    assert_float_equal(c->min, 0, 0);
    assert_float_equal(c->max, 60, 0);
    assert_float_equal(c->ci_low, 0, 0);
    assert_float_equal(c->ci_high, 3, 0);
}

static void too_few_say_nothing(void **state)
{
    struct xfp_stats stats = {XFP_FEWEST_SAMPLES - 1, 40, 10, 90, 30, 50};

    assert_int_equal(xfp_add_added(&session, &stats, "records/a"), 0);
    assert_int_equal(session.profile->scalar_count, 0);
    assert_int_equal(session.results, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(above_0_it_stays, begin, end),
        cmocka_unit_test_setup_teardown(below_it_is_0, begin, end),
        cmocka_unit_test_setup_teardown(too_few_say_nothing, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
