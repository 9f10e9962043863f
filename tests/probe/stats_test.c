/*
 * Statistics: the median, and its confidence interval against known ranks; whether there is time
 * for the fewest samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "probe/measure/budget.h"
#include "probe/measure/stats.h"

static void ranks_are_those_of_the_tables(void **state)
{
    /* lower ranks (from 1) of the 95 % interval of a median: 6:1, 9:2, 12:3, 20:6, 50:18, 100:40 */
    static const size_t known[][2] = {{6, 1},  {8, 1},   {9, 2},   {12, 3},
                                      {20, 6}, {50, 18}, {100, 40}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_int_equal(xfp_stats_ci_rank(known[i][0]) + 1, known[i][1]);
}

static void order_does_not_matter(void **state)
{
    double samples[] = {7, 1, 9, 3, 5, 2, 8, 4, 6};
    struct xfp_stats s = xfp_stats_of(samples, 9);

    assert_true(s.median == 5 && s.min == 1 && s.max == 9);
    assert_true(s.ci_low == 2 && s.ci_high == 8);
    assert_true(fabs(xfp_stats_spread(&s) - 0.6) < 1e-12);
}

static void time_is_for_the_others_too(void **state)
{
    struct xfp_session s = {.give_up_ns = xfp_wall_ns() + UINT64_C(280000000000)};

    /* the one that warms up and six: of 280 s a quarter */
    assert_true(xfp_has_time_for(&s, 9e9));
    assert_false(xfp_has_time_for(&s, 11e9));
    s.reserved_ns = UINT64_C(140000000000);
    assert_false(xfp_has_time_for(&s, 9e9));
    assert_true(xfp_has_time_for(&s, 4e9));
    s.give_up_ns = 1;
    assert_false(xfp_has_time_for(&s, 1));
}

static void few_samples_say_so_by_their_width(void **state)
{
    double samples[] = {4, 1, 2, 3};
    struct xfp_stats none = xfp_stats_of(NULL, 0), four = xfp_stats_of(samples, 4);

    assert_int_equal(none.n, 0);
    assert_true(none.median == 0 && xfp_stats_spread(&none) == 0);
    assert_true(four.median == 2.5 && four.ci_low == 1 && four.ci_high == 4);
}

/* Of many samples of a known distribution, about 95 % of the intervals hold its median. */
static void the_interval_covers_the_median(void **state)
{
    uint64_t random = 42;
    int covered = 0;

    for (int round = 0; round < 4000; round++) {
        double samples[25];
        struct xfp_stats s;

        for (int i = 0; i < 25; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            samples[i] = (double)(random >> 11) / 9007199254740992.0;
        }
        s = xfp_stats_of(samples, 25);
        covered += s.ci_low <= 0.5 && s.ci_high >= 0.5;
    }
    assert_in_range(covered, 3780, 3960); /* exact coverage for n = 25: 95.7 % */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_those_of_the_tables),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(time_is_for_the_others_too),
        cmocka_unit_test(few_samples_say_so_by_their_width),
        cmocka_unit_test(the_interval_covers_the_median),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
