/* When a change is more than noise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/compare/statistics.h"

#define MOST 16

static struct xfa_sample samples[2][MOST];

/* Figures that may be off by that part. */
static void fill(unsigned side, const double *values, size_t count, double off)
{
    for (size_t i = 0; i < count; i++)
        samples[side][i] =
            (struct xfa_sample){values[i], values[i] * (1 - off), values[i] * (1 + off)};
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected) + 1e-12)
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* ---- the distribution ------------------------------------------------------------------------ */

/* Against all orders, counted one by one: of how many is the statistic at most u? */
static double counted(unsigned m, unsigned n, size_t u)
{
    size_t all = 0, below = 0;
    for (uint32_t set = 0; set < UINT32_C(1) << (m + n); set++) {
        size_t statistic = 0, before = 0;
        if (__builtin_popcount(set) != (int)m)
            continue;
        for (unsigned i = 0; i < m + n; i++) {
            if (set >> i & 1)
                statistic += before;
            else
                before++;
        }
        all++;
        below += statistic <= u;
    }
    return (double)below / (double)all;
}

static void test_ranks_are_those_of_all_orders(void **state)
{
    (void)state;
    for (unsigned m = 1; m <= 7; m++) {
        for (unsigned n = 1; n <= 7; n++) {
            double attained;
            size_t rank = xfa_shift_rank(m, n, 0.95, &attained);
            if (rank == 0) {
                assert_true(2 * counted(m, n, 0) > 0.05);
                continue;
            }
            assert_near(attained, 1 - 2 * counted(m, n, rank - 1));
            assert_true(attained >= 0.95);
            assert_true(1 - 2 * counted(m, n, rank) < 0.95);
        }
    }
}

static void test_how_many_runs_it_takes(void **state)
{
    (void)state;
    double attained;
    assert_int_equal(xfa_shift_rank(3, 3, 0.95, &attained), 0);
    assert_int_equal(xfa_shift_rank(2, 7, 0.95, &attained), 0);
    assert_int_equal(xfa_shift_rank(1, 32, 0.95, &attained), 0);
    assert_int_equal(xfa_shift_rank(4, 4, 0.95, &attained), 1);
    assert_int_equal(xfa_shift_rank(3, 5, 0.95, &attained), 1);
    assert_true(xfa_shift_rank(XFA_COMPARED_RUNS, XFA_COMPARED_RUNS, 0.95, &attained) > 300);
    assert_true(attained >= 0.95 && attained < 0.953);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Hollander and Wolfe's permeability of human chorioamnion (table 4.1): at term, and at 12 to 26
 * weeks. The shift and its interval by all 3003 orders. */
static void test_a_textbooks_example(void **state)
{
    (void)state;
    const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double weeks[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    fill(0, weeks, 5, 0);
    fill(1, term, 10, 0);
    struct xfa_change change = xfa_change_of(samples[0], 5, samples[1], 10, false);
    assert_near(change.shift, 0.305);
    assert_near(change.low, -0.15);
    assert_near(change.high, 0.76);
    assert_near(change.before, 0.90);
    assert_near(change.after, (1.38 + 1.45) / 2);
    assert_true(change.confidence > 0.95 && change.confidence < 0.97);
    assert_int_equal(change.verdict, XFA_ALIKE);
}

static void test_runs_that_are_apart(void **state)
{
    (void)state;
    const double before[] = {100, 103, 98, 101}, after[] = {90, 92, 91, 89};
    fill(0, before, 4, 0.3);
    fill(1, after, 4, 0.3);
    struct xfa_change change = xfa_change_of(samples[0], 4, samples[1], 4, false);
    assert_int_equal(change.verdict, XFA_LESS);
    assert_near(change.shift, -10);
    assert_near(change.low, 89 - 103);
    assert_near(change.high, 92 - 98);
    assert_near(xfa_change_part(&change), -10 / 100.5);
    change = xfa_change_of(samples[1], 4, samples[0], 4, true);
    assert_int_equal(change.verdict, XFA_MORE);
}

static void test_one_run_among_the_others(void **state)
{
    (void)state;
    const double before[] = {100, 103, 98, 101}, after[] = {90, 92, 99, 89};
    fill(0, before, 4, 0);
    fill(1, after, 4, 0);
    assert_int_equal(xfa_change_of(samples[0], 4, samples[1], 4, false).verdict, XFA_ALIKE);
}

/* Apart, but by less than anybody cares for. */
static void test_hardly_a_change(void **state)
{
    (void)state;
    const double before[] = {100.0, 100.1, 100.2, 100.3}, after[] = {100.5, 100.6, 100.7, 100.8};
    fill(0, before, 4, 0);
    fill(1, after, 4, 0);
    struct xfa_change change = xfa_change_of(samples[0], 4, samples[1], 4, false);
    assert_true(change.low > 0);
    assert_int_equal(change.verdict, XFA_ALIKE);
}

/* Of many figures one: five runs a side give 99 %, four the widest that there is. */
static void test_many_figures_want_more(void **state)
{
    (void)state;
    const double before[] = {10, 11, 12, 13, 14}, after[] = {13.5, 15, 16, 17, 18};
    fill(0, before, 5, 0);
    fill(1, after, 5, 0);
    struct xfa_change one = xfa_change_of(samples[0], 5, samples[1], 5, false);
    struct xfa_change many = xfa_change_of(samples[0], 5, samples[1], 5, true);
    assert_int_equal(one.verdict, XFA_MORE);
    assert_int_equal(many.verdict, XFA_ALIKE);
    assert_near(one.confidence, 1 - 2 * counted(5, 5, 2));
    assert_near(many.confidence, 1 - 2 * counted(5, 5, 0));
    assert_near(xfa_change_of(samples[0], 4, samples[1], 4, true).confidence,
                1 - 2 * counted(4, 4, 0));
    assert_near(xfa_change_of(samples[0], 4, samples[1], 5, true).confidence,
                1 - 2 * counted(4, 5, 0));
}

/* Pairs of figures that do not differ are found to differ only as often as the confidence allows.
 */
static void test_noise_alone(void **state)
{
    (void)state;
    enum { TRIES = 4000, RUNS = 6 };
    uint64_t random = 88172645463325252u;
    unsigned differ = 0;
    for (unsigned t = 0; t < TRIES; t++) {
        double values[2][RUNS];
        for (unsigned i = 0; i < 2 * RUNS; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            values[i / RUNS][i % RUNS] = 100 + 30 * (double)(random >> 11) / 0x1p53;
        }
        fill(0, values[0], RUNS, 0);
        fill(1, values[1], RUNS, 0);
        differ += xfa_change_of(samples[0], RUNS, samples[1], RUNS, false).verdict != XFA_ALIKE;
    }
    assert_true(differ > TRIES * 0.02); /* it is a test, after all: 4.1 % */
    assert_true(differ < TRIES * 0.05);
}

/* ---- too few runs ---------------------------------------------------------------------------- */

static void test_bounds_that_meet(void **state)
{
    (void)state;
    fill(0, (double[]){100}, 1, 0.1);
    fill(1, (double[]){119}, 1, 0.1);
    struct xfa_change change = xfa_change_of(samples[0], 1, samples[1], 1, false);
    assert_int_equal(change.verdict, XFA_ALIKE);
    assert_true(isnan(change.confidence));
    assert_near(change.shift, 19);
    fill(1, (double[]){130}, 1, 0.1);
    assert_int_equal(xfa_change_of(samples[0], 1, samples[1], 1, false).verdict, XFA_MORE);
    assert_int_equal(xfa_change_of(samples[1], 1, samples[0], 1, false).verdict, XFA_LESS);
}

static void test_the_bounds_of_all_runs_count(void **state)
{
    (void)state;
    fill(0, (double[]){100, 118, 101}, 3, 0.1);
    fill(1, (double[]){135, 136}, 2, 0.1);
    assert_int_equal(xfa_change_of(samples[0], 3, samples[1], 2, false).verdict, XFA_ALIKE);
    fill(0, (double[]){100, 102, 101}, 3, 0.1);
    assert_int_equal(xfa_change_of(samples[0], 3, samples[1], 2, false).verdict, XFA_MORE);
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    fill(0, (double[]){100}, 1, 0.1);
    samples[1][0] = (struct xfa_sample){500, NAN, NAN};
    struct xfa_change change = xfa_change_of(samples[0], 1, samples[1], 1, false);
    assert_int_equal(change.verdict, XFA_UNSURE);
    assert_near(change.shift, 400);
    samples[1][0] = (struct xfa_sample){NAN, NAN, NAN};
    change = xfa_change_of(samples[0], 1, samples[1], 1, false);
    assert_int_equal(change.verdict, XFA_UNSURE);
    assert_true(isnan(change.after) && isnan(change.shift));
    /* A run without the figure is left out; its bounds do not matter where runs tell. */
    fill(0, (double[]){10, 11, 12, 13, 0}, 5, 0);
    fill(1, (double[]){20, 21, 22, 23}, 4, 0);
    samples[0][4].value = NAN;
    samples[1][2].low = samples[1][2].high = NAN;
    change = xfa_change_of(samples[0], 5, samples[1], 4, false);
    assert_int_equal(change.verdict, XFA_MORE);
    assert_near(change.confidence, 1 - 2 * counted(4, 4, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_are_those_of_all_orders),
        cmocka_unit_test(test_how_many_runs_it_takes),
        cmocka_unit_test(test_a_textbooks_example),
        cmocka_unit_test(test_runs_that_are_apart),
        cmocka_unit_test(test_one_run_among_the_others),
        cmocka_unit_test(test_hardly_a_change),
        cmocka_unit_test(test_many_figures_want_more),
        cmocka_unit_test(test_noise_alone),
        cmocka_unit_test(test_bounds_that_meet),
        cmocka_unit_test(test_the_bounds_of_all_runs_count),
        cmocka_unit_test(test_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
