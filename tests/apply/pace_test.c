/* Which way all copies of the process go, as the time of its periods says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "preload/apply/site/pace.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t now;

static int anew(void **state)
{
    (void)state;
    xfs_pace_after_fork();
    now = 1000;
    return 0;
}

/* So many copies, each of which takes the time of its way; how many went our way. */
static int copies(int count, uint64_t asked_ns, uint64_t ours_ns)
{
    int ours = 0;
    for (int i = 0; i < count; i++) {
        bool is_ours = xfs_pace_way() == XFS_WAY_OURS;
        ours += is_ours;
        now += is_ours ? ours_ns : asked_ns;
        (void)xfs_pace_copied(MIB, now);
    }
    return ours;
}

static void all_of_a_period_go_one_way(void **state)
{
    int lengths[6] = {0}, changes = 0;
    enum xfs_way last = XFS_WAY_AS_ASKED;
    (void)state;
    for (int i = 0; i < 6 * (XFS_PACE_COPIES + 1); i++) {
        enum xfs_way way = xfs_pace_way();
        changes += way != last;
        last = way;
        lengths[changes]++;
        (void)xfs_pace_copied(MIB, now += 100);
    }
    assert_int_equal(changes, 5);
    for (int i = 0; i < 6; i++) /* with the one that begins it */
        assert_int_equal(lengths[i], XFS_PACE_COPIES + 1);
}

static void what_gains(void **state)
{
    (void)state;
    copies(200, 100, 50);
    assert_int_equal(copies(500, 100, 50), 500);
}

static void what_does_not(void **state)
{
    (void)state;
    copies(200, 100, 95);
    assert_int_equal(copies(500, 100, 95), 0);
}

static void the_time_of_all_that_is_done_counts(void **state)
{
    (void)state;
    copies(200, 1100, 1050);
    assert_int_equal(copies(500, 1100, 1050), 0);
}

static void where_nothing_is_gained_copies_are_passed(void **state)
{
    int looked = 0;
    (void)state;
    for (int i = 0; i < 40000; i++) {
        if (xfs_pace_rests()) {
            xfs_pace_passed();
            continue;
        }
        looked++;
        (void)xfs_pace_copied(MIB, now += 100);
    }
    assert_in_range(looked, 200, 1000); /* the trials, and looks ever further apart */
}

static void what_is_known(void **state)
{
    (void)state;
    copies(3 * (XFS_PACE_COPIES + 1), 100, 50);
    struct xfs_proof known = xfs_pace_copied(MIB, now);
    assert_int_equal(known.samples[XFS_WAY_AS_ASKED], 2);
    assert_int_equal(known.samples[XFS_WAY_OURS], 1);
    assert_int_equal(xfs_proof_expects(&known, XFS_WAY_AS_ASKED, 8 * MIB), 800);
    assert_int_equal(xfs_proof_expects(&known, XFS_WAY_OURS, 8 * MIB), 400);
}

static void a_clock_that_goes_back(void **state)
{
    struct xfs_proof known = {0};
    (void)state;
    for (int i = 0; i <= XFS_PACE_COPIES; i++)
        known = xfs_pace_copied(MIB, 1000 - (uint64_t)i);
    assert_int_equal(known.samples[XFS_WAY_AS_ASKED], 0);
}

static void given_up(void **state)
{
    (void)state;
    copies(200, 100, 50);
    xfs_pace_give_up();
    assert_int_equal(copies(500, 100, 50), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, anew)
    const struct CMUnitTest tests[] = {
        TEST(all_of_a_period_go_one_way),
        TEST(what_gains),
        TEST(what_does_not),
        TEST(the_time_of_all_that_is_done_counts),
        TEST(where_nothing_is_gained_copies_are_passed),
        TEST(what_is_known),
        TEST(a_clock_that_goes_back),
        TEST(given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
