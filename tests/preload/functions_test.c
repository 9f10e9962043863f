/* Functions by handle: asked about once, again after modules went, by many threads at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/intercept/functions.h"
#include "preload/lookup/driver.h"
#include "preload/base/own_stack.h"
#include "preload/record/cost.h"
#include "preload/record/record.h"

/* ---- the driver and the recorder ------------------------------------------------------------ */

#define KERNEL_BIT 0x100000000u /* a CUkernel's handle: cuFuncGetName refuses it */
#define NAMELESS 0x7770u

static atomic_int asked, names_kept = 1;
static atomic_int change;   /* what handles stand for */
static atomic_bool unloads; /* the next question is overtaken: its answer is of what was there */

static int name_of_handle(const char **name, uint64_t handle)
{
    static _Thread_local char text[64];
    atomic_fetch_add(&asked, 1);
    if (handle == NAMELESS)
        return 400;
    snprintf(text, sizeof text, "%llu", (unsigned long long)(handle + (unsigned)change));
    *name = text;
    if (atomic_exchange(&unloads, false)) {
        change = 1;
        xfs_functions_forget();
    }
    return 0;
}

static int function_name(const char **name, const void *handle)
{
    uint64_t number = (uint64_t)(uintptr_t)handle;
    return number & KERNEL_BIT ? 400 : name_of_handle(name, number);
}

static int kernel_name(const char **name, const void *handle)
{
    uint64_t number = (uint64_t)(uintptr_t)handle;
    return number & KERNEL_BIT ? name_of_handle(name, number) : 400;
}

static atomic_int unusual;

void xfs_cost_unusual(unsigned why)
{
    atomic_fetch_add(&unusual, why == XFT_OVERHEAD_FUNCTION);
}

void *xfs_driver_symbol(const char *name)
{
    if (strcmp(name, "cuFuncGetName") == 0)
        return (void *)function_name;
    return strcmp(name, "cuKernelGetName") == 0 ? (void *)kernel_name : NULL;
}

/* The id of a name is the number that it spells. */
uint32_t xfs_name(const char *text, size_t bytes)
{
    return names_kept ? (uint32_t)strtoull(text, NULL, 10) : 0;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static uint32_t name_of(uint64_t handle)
{
    const struct xfs_function *f = xfs_function_of((const void *)(uintptr_t)handle);
    return f ? f->name : UINT32_MAX;
}

static void asks_once(void **state)
{
    int before = asked;
    assert_int_equal(name_of(0x1230), 0x1230);
    assert_int_equal(name_of(0x1230), 0x1230);
    assert_int_equal(name_of(KERNEL_BIT | 0x1230), 0x1230);
    assert_int_equal(name_of(KERNEL_BIT | 0x1230), 0x1230);
    assert_int_equal(asked - before, 2);
    assert_int_equal(name_of(0), UINT32_MAX);
}

static void a_function_without_a_name_is_known_too(void **state)
{
    assert_int_equal(name_of(NAMELESS), 0);
    int before = asked, unusual_before = unusual;
    assert_int_equal(name_of(NAMELESS), 0);
    assert_int_equal(asked, before);
    assert_int_equal(unusual, unusual_before);
}

static void forgets_what_was_unloaded(void **state)
{
    int before = unusual;
    assert_int_equal(name_of(0x4560), 0x4560);
    assert_int_equal(unusual, before + 1); /* recording tells that it took its time */
    struct xfs_function *f = xfs_function_of((const void *)0x4560);
    atomic_store(&f->parameters, (const struct xfs_parameters *)&change);
    xfs_functions_forget();
    change = 1;
    assert_int_equal(name_of(0x4560), 0x4561);
    assert_ptr_equal(xfs_function_of((const void *)0x4560), f);
    assert_null(atomic_load(&f->parameters));
    change = 0;
    xfs_functions_forget();
}

static void forgets_what_is_unloaded_meanwhile(void **state)
{
    unloads = true;
    name_of(0x6780);
    assert_int_equal(change, 1);
    assert_int_equal(name_of(0x6780), 0x6781);
    change = 0;
    xfs_functions_forget();
}

static void a_name_that_was_not_kept_is_asked_for_again(void **state)
{
    names_kept = 0;
    assert_int_equal(name_of(0x8880), UINT32_MAX);
    names_kept = 1;
    assert_int_equal(name_of(0x8880), 0x8880);
}

static void generations_skip_what_means_something_else(void **state)
{
    atomic_store(&xfs_function_generation, UINT32_MAX - 1);
    xfs_functions_forget();
    assert_int_equal(atomic_load(&xfs_function_generation), 1);
    xfs_functions_forget(); /* entries of the tests before have 1 */
}

#define THREADS 4
#define HANDLES 2000

static void *launch_all(void *wrong)
{
    for (int turn = 0; turn < 20; turn++)
        for (uint64_t i = 1; i <= HANDLES; i++)
            if (name_of(i * 256) != i * 256)
                ++*(int *)wrong;
    return NULL;
}

static void threads_agree(void **state)
{
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0}, before = asked;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_all, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    assert_in_range(asked - before, HANDLES, HANDLES * THREADS); /* nobody waits for another */
}

/* More functions than there is room for: the others are not known, and nothing is lost of these. */
static void is_full_one_day(void **state)
{
    uint32_t unknown = 0;
    for (uint64_t i = 1; i <= XFS_FUNCTION_SLOTS; i++)
        unknown += name_of(i * 32 + 16) == UINT32_MAX;
    assert_in_range(unknown, XFS_FUNCTION_SLOTS / 4, XFS_FUNCTION_SLOTS / 4 + HANDLES + 16);
    assert_int_equal(name_of(HANDLES * 256), HANDLES * 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_once),
        cmocka_unit_test(a_function_without_a_name_is_known_too),
        cmocka_unit_test(forgets_what_was_unloaded),
        cmocka_unit_test(forgets_what_is_unloaded_meanwhile),
        cmocka_unit_test(a_name_that_was_not_kept_is_asked_for_again),
        cmocka_unit_test(generations_skip_what_means_something_else),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(is_full_one_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
