/* Which stream of ours uses which memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/apply/streams/uses.h"

static int anew(void **state)
{
    (void)state;
    xfs_uses_forget();
    return 0;
}

static bool begin(unsigned place, uint64_t buffer, bool writes)
{
    const struct xfs_use use = {.buffer = buffer, .start = buffer, .bytes = 1, .writes = writes};
    bool may = xfs_uses_begin(place, &use, 1);
    if (may)
        xfs_uses_submitted(place);
    return may;
}

static void what_meets(void **state)
{
    (void)state;
    assert_true(begin(0, 10, true));
    assert_true(begin(0, 10, true)); /* in its own order */
    assert_false(begin(1, 10, false));
    assert_false(begin(1, 10, true));
    assert_true(begin(1, 11, false));
    assert_true(begin(2, 11, false)); /* both read */
    assert_false(begin(0, 11, true));
    assert_false(begin(1, 11, true));
}

static void all_of_it_or_nothing(void **state)
{
    const struct xfs_use uses[] = {{.buffer = 20, .writes = true}, {.buffer = 10, .writes = true}};
    (void)state;
    assert_true(begin(0, 10, true));
    assert_false(xfs_uses_begin(1, uses, 2));
    assert_true(begin(0, 20, true));
    assert_false(xfs_uses_pending(1));
}

static void once_it_is_over(void **state)
{
    (void)state;
    assert_true(begin(0, 10, true));
    uint64_t so_far = xfs_uses_so_far(0);
    assert_true(so_far > 0);
    assert_true(begin(0, 11, true));
    xfs_uses_over(0, so_far);
    assert_true(begin(1, 10, true));
    assert_false(begin(1, 11, false)); /* was given later */
    assert_true(xfs_uses_pending(0));
    xfs_uses_over(0, xfs_uses_so_far(0));
    assert_false(xfs_uses_pending(0));
    assert_int_equal(xfs_uses_so_far(0), 0);
    assert_true(begin(1, 11, true));
}

static void while_it_is_submitted(void **state)
{
    const struct xfs_use use = {.buffer = 10, .writes = true};
    (void)state;
    assert_false(xfs_uses_submitting());
    assert_true(xfs_uses_begin(3, &use, 1));
    assert_true(xfs_uses_submitting());
    assert_int_equal(xfs_uses_so_far(3), 0); /* a wait would miss it */
    assert_true(xfs_uses_pending(3));
    assert_false(begin(1, 10, false));
    xfs_uses_submitted(3);
    assert_false(xfs_uses_submitting());
    assert_true(xfs_uses_so_far(3) > 0);
}

static void no_more_than_there_is_room_for(void **state)
{
    (void)state;
    for (uint64_t buffer = 1; buffer <= XFS_USES_KNOWN; buffer++)
        assert_true(begin(0, buffer, true));
    assert_false(begin(0, XFS_USES_KNOWN + 1, true));
    assert_true(begin(0, 1, true));
    xfs_uses_over(0, xfs_uses_so_far(0));
    assert_true(begin(0, XFS_USES_KNOWN + 1, true)); /* in the place of one that is over */
    assert_false(begin(1, XFS_USES_KNOWN + 1, true));
    assert_true(begin(1, 2, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_meets, anew),
        cmocka_unit_test_setup(all_of_it_or_nothing, anew),
        cmocka_unit_test_setup(once_it_is_over, anew),
        cmocka_unit_test_setup(while_it_is_submitted, anew),
        cmocka_unit_test_setup(no_more_than_there_is_room_for, anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
