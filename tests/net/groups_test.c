/* Which ranks measure collectives of some of all: groups.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "probe/net/groups.h"

enum { MOST = 64 };

/* Ranks of so many hosts, by turns (as `--map-by node` has them) or in blocks. */
static int place(int *all, int hosts, int each, bool by_turns)
{
    for (int i = 0; i < hosts * each; i++)
        all[i] = by_turns ? i % hosts : i / each * each;
    return hosts * each;
}

static bool has(const struct xfp_net_shape_of_ranks *shapes, size_t count, int hosts, int each)
{
    for (size_t i = 0; i < count; i++)
        if (shapes[i].hosts == hosts && shapes[i].each == each)
            return true;
    return false;
}

/* Of two ranks there are none; of one host with four their pairs; what programs use most first. */
static void test_shapes(void **state)
{
    struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES];
    int all[MOST];
    (void)state;
    assert_int_equal(xfp_net_list_shapes(all, place(all, 1, 2, false), shapes), 0);
    assert_int_equal(xfp_net_list_shapes(all, place(all, 2, 1, false), shapes), 0);
    assert_int_equal(xfp_net_list_shapes(all, place(all, 1, 4, false), shapes), 1);
    assert_true(has(shapes, 1, 1, 2));
    for (int by_turns = 0; by_turns < 2; by_turns++) {
        size_t count = xfp_net_list_shapes(all, place(all, 2, 2, by_turns), shapes);
        assert_int_equal(count, 2);
        assert_true(has(shapes, count, 1, 2) && has(shapes, count, 2, 1));
        count = xfp_net_list_shapes(all, place(all, 4, 8, by_turns), shapes);
        assert_true(shapes[0].hosts == 1 && shapes[0].each == 8);
        assert_true(shapes[1].hosts == 4 && shapes[1].each == 1);
        assert_true(has(shapes, count, 1, 2) && has(shapes, count, 2, 1));
        assert_true(has(shapes, count, 1, 4) && has(shapes, count, 4, 4));
        assert_true(has(shapes, count, 2, 8) && !has(shapes, count, 4, 8));
        assert_int_equal(count, 10);
    }
    assert_int_equal(xfp_net_list_shapes(all, place(all, 8, 8, true), shapes), XFP_NET_MOST_SHAPES);
}

/* With uneven hosts no more on each than the smallest has, and that may be all hosts. */
static void test_uneven(void **state)
{
    const int all[] = {0, 0, 0, 3, 3, 0};
    struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES];
    (void)state;
    size_t count = xfp_net_list_shapes(all, 6, shapes);
    assert_int_equal(count, 3);
    assert_true(has(shapes, count, 1, 2) && has(shapes, count, 2, 1) && has(shapes, count, 2, 2));
}

static void expect(const int *all, int count, struct xfp_net_shape_of_ranks shape,
                   const int *numbers)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(xfp_net_group_number(all, count, shape, i), numbers[i]);
}

/* Of one host on each host at the same time; of several on the first ones alone. */
static void test_members(void **state)
{
    const int all[] = {0, 1, 0, 1, 0, 1, 6, 6}; /* three, three, and two */
    (void)state;
    expect(all, 8, (struct xfp_net_shape_of_ranks){1, 2}, (const int[]){0, 1, 0, 1, -1, -1, 2, 2});
    expect(all, 8, (struct xfp_net_shape_of_ranks){1, 3}, (const int[]){0, 1, 0, 1, 0, 1, -1, -1});
    expect(all, 8, (struct xfp_net_shape_of_ranks){2, 1},
           (const int[]){0, 0, -1, -1, -1, -1, -1, -1});
    expect(all, 8, (struct xfp_net_shape_of_ranks){3, 2}, (const int[]){0, 0, 0, 0, -1, -1, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
