/*
 * Several threads at one thing: every part done once in every round, and all of the bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>

#include "probe/device/team.h"

enum { ROUNDS = 300, MOST = 16 };

static const struct xfp_driver driver; /* neither simulated nor asked */

struct work {
    long done[MOST], of[MOST];
};

static void count(void *state, size_t index, size_t all)
{
    struct work *w = state;

    w->done[index]++;
    w->of[index] += (long)all;
}

static void every_part_is_done_once_a_round(void **state)
{
    struct xfp_system s = {.cu = &driver};

    for (size_t threads = 1; threads <= MOST; threads++) {
        struct xfp_team *team = xfp_team_start(&s, threads, -1);
        struct work w = {{0}, {0}};

        assert_non_null(team);
        for (int round = 1; round <= ROUNDS; round++) {
            xfp_team_work(team, count, &w);
            for (size_t i = 0; i < threads; i++) /* all have done it when it returns */
                assert_int_equal(w.done[i], round);
        }
        xfp_team_end(team);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(w.of[i], i < threads ? (long)threads * ROUNDS : 0);
    }
    xfp_team_end(NULL);
}

static void parts_are_whole_pages_and_all(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000, 64 << 20};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t threads = 1; threads <= 7; threads++) {
            size_t next = 0, from, to;

            for (size_t i = 0; i < threads; i++) {
                xfp_team_part(sizes[s], i, threads, &from, &to);
                assert_int_equal(from, next);
                assert_true(to >= from && from % 4096 == 0);
                next = to;
            }
            assert_int_equal(next, sizes[s]);
        }
}

static void numbers_end_with_the_processors(void **state)
{
    struct xfp_system s = {.cu = &driver};
    size_t sizes[XFP_TEAM_SIZES];

    for (int cpu = 0; cpu < 12; cpu++)
        CPU_SET(cpu, &s.affinity);
    assert_int_equal(xfp_team_sizes(&s, false, sizes), 5); /* 1 2 4 8 12 */
    assert_int_equal(sizes[3], 8);
    assert_int_equal(sizes[4], 12);
    assert_int_equal(xfp_team_sizes(&s, true, sizes), 3); /* 1 4 12 */
    CPU_ZERO(&s.affinity); /* more processors than the mask has room for */
    assert_int_equal(xfp_team_sizes(&s, true, sizes), 1);
    for (int cpu = 0; cpu < 500; cpu++)
        CPU_SET(cpu, &s.affinity);
    assert_int_equal(sizes[xfp_team_sizes(&s, true, sizes) - 1], XFP_MOST_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once_a_round),
        cmocka_unit_test(parts_are_whole_pages_and_all),
        cmocka_unit_test(numbers_end_with_the_processors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
