/* Stacks that a thread had before (preload/record/remembered.h): when one is found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/record/remembered.h"

#define FROM 0x401234u
#define ID 7

static struct xfs_remembered remembered;
static uintptr_t stack[4]; /* of a thread; its words need not be return addresses here */

static struct xfs_registers here(void)
{
    return (struct xfs_registers){.sp = (uintptr_t)stack, .fp = 5};
}

/* As if a walk had read the second and the fourth word. */
static void remember(bool whole, bool of_first_fp)
{
    struct xfs_registers from = here();
    struct xfs_remembered_stack *place = xfs_remembered_place(&remembered, FROM, from.sp);
    place->reads = (struct xfs_reads){.whole = whole,
                                      .of_first_fp = of_first_fp,
                                      .count = 2,
                                      .at = {1, 3},
                                      .value = {stack[1], stack[3]}};
    xfs_remember(place, &from, ID, xfs_remembered_stamp(&remembered));
}

static uint32_t find(void)
{
    struct xfs_registers from = here();
    return xfs_remembered_find(&remembered, FROM, from.sp, from.fp);
}

static int begin(void **state)
{
    atomic_store(&xfs_unload_calls, 0);
    remembered = (struct xfs_remembered){0};
    xfs_remembered_forget(&remembered); /* the first thread */
    for (uintptr_t i = 0; i < 4; i++)
        stack[i] = 100 + i;
    return 0;
}

static void test_found(void **state)
{
    assert_int_equal(find(), 0);
    remember(true, false);
    assert_int_equal(find(), ID);
    stack[0]++;
    stack[2]++;
    assert_int_equal(find(), ID);
}

static void test_other_words(void **state)
{
    remember(true, false);
    stack[3]++;
    assert_int_equal(find(), 0);
    stack[3]--;
    stack[1]++;
    assert_int_equal(find(), 0);
}

static void test_elsewhere(void **state)
{
    struct xfs_registers from = here();
    remember(true, false);
    from.sp += sizeof *stack;
    assert_int_equal(xfs_remembered_find(&remembered, FROM, from.sp, from.fp), 0);
}

/* The register matters where the first frame was found by it. */
static void test_frame_pointer(void **state)
{
    struct xfs_registers from = here();
    from.fp++;
    remember(true, false);
    assert_int_equal(xfs_remembered_find(&remembered, FROM, from.sp, from.fp), ID);
    remember(true, true);
    assert_int_equal(xfs_remembered_find(&remembered, FROM, from.sp, from.fp), 0);
    assert_int_equal(find(), ID);
}

static void test_not_whole(void **state)
{
    remember(false, false);
    assert_int_equal(find(), 0);
}

static void test_unloaded(void **state)
{
    remember(true, false);
    atomic_store(&xfs_unload_calls, 1); /* one is under way */
    assert_int_equal(find(), 0);
    assert_int_equal(xfs_remembered_stamp(&remembered), 0);
    atomic_store(&xfs_unload_calls, (uint64_t)1 << XFS_UNLOADS_ENDED);
    assert_int_equal(find(), 0);
    remember(true, false);
    assert_int_equal(find(), ID);
}

/* Its stack may be another one at the same place, and less of it readable. */
static void test_other_thread(void **state)
{
    remember(true, false);
    xfs_remembered_forget(&remembered);
    assert_int_equal(find(), 0);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(found),     TEST(other_words), TEST(elsewhere),    TEST(frame_pointer),
        TEST(not_whole), TEST(unloaded),    TEST(other_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
