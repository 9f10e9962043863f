/* What the device has (preload/apply/leave_out/uploads.h), and what counts as a write (writes.h).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "preload/apply/leave_out/uploads.h"
#include "preload/apply/calls/writes.h"

#define AT 0x7f0000000000u
#define MIB ((uint64_t)1 << 20)

static struct xfs_upload upload_of(uint64_t dst, uint64_t bytes, uint64_t hash)
{
    return (struct xfs_upload){dst, bytes, {hash, ~hash}, 7, 11, 13};
}

static void make(const struct xfs_upload *upload)
{
    uint64_t number = xfs_upload_begins(upload);
    assert_true(number > 0);
    xfs_upload_ends(number, true);
}

static int setup(void **state)
{
    (void)state;
    xfs_uploads_after_fork();
    return 0;
}

static void has_what_it_was_given(void **state)
{
    (void)state;
    struct xfs_upload one = upload_of(AT, MIB, 1), other;
    assert_false(xfs_uploads_have(&one, true));
    make(&one);
    assert_true(xfs_uploads_have(&one, true));
    for (int i = 0; i < 7; i++) { /* anything else is another upload */
        other = one;
        ((uint64_t *)&other)[i]++;
        assert_false(xfs_uploads_have(&other, true));
    }
    assert_true(xfs_uploads_have(&one, true));
}

static void has_only_what_arrived(void **state)
{
    (void)state;
    struct xfs_upload one = upload_of(AT, MIB, 1);
    uint64_t number = xfs_upload_begins(&one);
    assert_false(xfs_uploads_have(&one, true));
    xfs_upload_ends(number, false);
    assert_false(xfs_uploads_have(&one, true));
    number = xfs_upload_begins(&one);
    xfs_uploads_written(AT + 5, 1); /* meanwhile */
    xfs_upload_ends(number, true);
    assert_false(xfs_uploads_have(&one, true));
}

static void writes_there_end_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t at, bytes;
        bool meets;
    } writes[] = {
        {AT - 16, 16, false},    {AT - 16, 17, true},       {AT + MIB, 16, false},
        {AT + MIB - 1, 1, true}, {AT - MIB, 4 * MIB, true}, {AT + 10, 1, true},
        {AT, 0, false},          {AT, MIB, true},
    };
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        struct xfs_upload one = upload_of(AT, MIB, 1);
        make(&one);
        xfs_uploads_written(writes[i].at, writes[i].bytes);
        assert_int_equal(xfs_uploads_have(&one, true), !writes[i].meets);
    }
    struct xfs_upload one = upload_of(AT, MIB, 1), there = upload_of(AT + MIB / 2, MIB, 2);
    make(&one);
    make(&there);
    assert_false(xfs_uploads_have(&one, true));
    assert_true(xfs_uploads_have(&there, true));
}

static void writes_without_a_place_end_all(void **state)
{
    (void)state;
    struct xfs_upload one = upload_of(AT, MIB, 1);
    make(&one);
    xfs_uploads_written(UINT64_MAX - 1, 16);
    assert_false(xfs_uploads_have(&one, true));
    make(&one);
    xfs_uploads_forget();
    assert_false(xfs_uploads_have(&one, true));
}

static void launches_end_it_unless_kernels_keep(void **state)
{
    (void)state;
    struct xfs_upload one = upload_of(AT, MIB, 1);
    make(&one);
    assert_true(xfs_uploads_have(&one, false));
    atomic_fetch_add(&xfs_writes_launched, 1);
    assert_false(xfs_uploads_have(&one, false));
    assert_true(xfs_uploads_have(&one, true));
}

/* The one that was asked for least lately goes. */
static void remembers_so_many(void **state)
{
    (void)state;
    struct xfs_upload first = upload_of(AT, MIB, 1), second = upload_of(AT + MIB, MIB, 1);
    make(&first);
    make(&second);
    for (uint64_t i = 2; i <= XFS_UPLOADS; i++) {
        struct xfs_upload one = upload_of(AT + i * MIB, MIB, i);
        assert_true(xfs_uploads_have(&first, true));
        make(&one);
    }
    assert_true(xfs_uploads_have(&first, true));
    assert_false(xfs_uploads_have(&second, true));
}

/* ---- what counts ----------------------------------------------------------------------------- */

typedef uint64_t sum_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                              uint64_t f, uint64_t g, uint64_t h);

static uint64_t sum(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                    uint64_t g, uint64_t h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static uint64_t call(xfs_function function)
{
    return ((sum_function *)function)(1, 2, 3, 4, 5, 6, 7, 8);
}

static void counted_functions_do_as_they_did(void **state)
{
    (void)state;
    uint64_t unplaced = atomic_load(&xfs_writes_unplaced);
    uint64_t launched = atomic_load(&xfs_writes_launched);
    xfs_function set = xfs_writes_counted("cuMemsetD2D8_v2", (xfs_function)sum);
    xfs_function launch = xfs_writes_counted("cuLaunchKernel_ptsz", (xfs_function)sum);
    xfs_function unknown = xfs_writes_counted("cuSomethingNew", (xfs_function)sum);
    assert_int_equal(call(set), 204);
    assert_int_equal(atomic_load(&xfs_writes_unplaced), unplaced + 1);
    assert_int_equal(call(launch), 204);
    assert_int_equal(atomic_load(&xfs_writes_launched), launched + 1);
    assert_int_equal(call(unknown), 204);
    assert_int_equal(atomic_load(&xfs_writes_unplaced), unplaced + 2);
    assert_ptr_equal(xfs_writes_counted("cuMemsetD2D8_v2", (xfs_function)sum), set);
}

static void harmless_functions_stay(void **state)
{
    (void)state;
    static const char *const symbols[] = {"cuStreamSynchronize", "cuMemcpyDtoH_v2", "cuMemAlloc_v2",
                                          "cuLaunchHostFunc", "cuEventRecord_ptsz"};
    static const char *const writing[] = {"cuStreamDestroy_v2", "cuMemcpyDtoD_v2", "cuGraphLaunch",
                                          "cuMemcpyBatchAsync", "cuCtxDestroy_v2"};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        assert_ptr_equal(xfs_writes_counted(symbols[i], (xfs_function)sum), (xfs_function)sum);
        assert_ptr_not_equal(xfs_writes_counted(writing[i], (xfs_function)sum), (xfs_function)sum);
    }
}

static void too_many_are_counted(void **state)
{
    (void)state;
    static char names[200][24];
    int counted = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "cuLaunchSort%d", i);
        counted += xfs_writes_counted(names[i], (xfs_function)sum) != NULL;
    }
    assert_in_range(counted, 8, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(has_what_it_was_given, setup),
        cmocka_unit_test_setup(has_only_what_arrived, setup),
        cmocka_unit_test_setup(writes_there_end_it, setup),
        cmocka_unit_test_setup(writes_without_a_place_end_all, setup),
        cmocka_unit_test_setup(launches_end_it_unless_kernels_keep, setup),
        cmocka_unit_test_setup(remembers_so_many, setup),
        cmocka_unit_test(counted_functions_do_as_they_did),
        cmocka_unit_test(harmless_functions_stay),
        cmocka_unit_test(too_many_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
