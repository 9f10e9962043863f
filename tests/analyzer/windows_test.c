/* Device records that come in windows: what is counted as not seen, and what is taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/model/windows.h"

static struct xft_event records(uint64_t kinds)
{
    return (struct xft_event){.kind = XFT_EVENT_RECORDS, .aux = kinds};
}

static void gather(struct xfa_windows *windows, const uint64_t *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct xft_event event = records(kinds[i]);
        xfa_windows_gather(windows, &event);
    }
}

static void test_always_on(void **unused)
{
    struct xfa_windows windows = {0};
    struct xft_event launch = {.kind = XFT_EVENT_LAUNCH};
    gather(&windows, (uint64_t[]){3}, 1);
    assert_false(windows.copies_off || windows.kernels_off);
    assert_false(xfa_windows_transfer(&windows, false)); /* it was dropped */
    xfa_windows_launch(&windows, &launch);
    assert_int_equal(windows.launches_unseen, 0);
}

/* Kernels were never to be recorded: that is no window. */
static void test_kernels_never(void **unused)
{
    struct xfa_windows windows = {0};
    struct xft_event launch = {.kind = XFT_EVENT_LAUNCH};
    gather(&windows, (uint64_t[]){1, 0, 1}, 3);
    assert_true(windows.copies_off);
    assert_false(windows.kernels_off);
    assert_int_equal(windows.opened, 2);
    xfa_windows_launch(&windows, &launch);
    assert_int_equal(windows.launches_unseen, 0);
}

static void test_counted(void **unused)
{
    struct xfa_windows windows = {0};
    struct xft_event launch = {.kind = XFT_EVENT_LAUNCH, .correlation = 8};
    struct xft_event captured = {.kind = XFT_EVENT_LAUNCH, .flags = XFT_CAPTURED};
    struct xft_event failed = {.kind = XFT_EVENT_LAUNCH, .flags = XFT_FAILED};
    gather(&windows, (uint64_t[]){3, 1, 3, 2, 3}, 5);
    assert_int_equal(windows.opened, 3);
    assert_false(xfa_windows_transfer(&windows, true));
    assert_true(xfa_windows_transfer(&windows, false));
    assert_int_equal(windows.transfers, 2);
    assert_int_equal(windows.unseen, 1);
    xfa_windows_launch(&windows, &launch);
    xfa_windows_launch(&windows, &captured);
    xfa_windows_launch(&windows, &failed);
    launch.correlation = 0;
    xfa_windows_launch(&windows, &launch);
    assert_int_equal(windows.launches, 2);
    assert_int_equal(windows.launches_unseen, 1);
}

static void test_extended(void **unused)
{
    struct xfa_figures f = {.device = {10, 1000, 500}, .unseen = {30, 3000, 0}};
    f.lost = (struct xfa_sum){10, 1000, 200};
    f.lost_achieved_ns = 500;
    f.lost_best_ns = 300;
    xfa_windows_extend(&f);
    assert_int_equal(f.lost.transfers, 40);
    assert_int_equal(f.lost.bytes, 4000);
    assert_float_equal(f.lost.ns, 800, 1e-9);
    assert_float_equal(f.lost_achieved_ns, 2000, 1e-9);
    assert_float_equal(f.lost_best_ns, 1200, 1e-9);
    assert_int_equal(f.device.transfers, 10); /* seen is seen */
    assert_float_equal(f.device.ns, 500, 1e-9);
}

/* Of a class that no window met, what blocking calls took stands in; of others nothing is known. */
static void test_none_seen(void **unused)
{
    struct xfa_figures blocking = {.unseen = {4, 400, 1000}, .unseen_best_ns = 700};
    struct xfa_figures other = {.unseen = {4, 400, 0}, .unseen_best_ns = 700};
    xfa_windows_extend(&blocking);
    assert_int_equal(blocking.host.transfers, 4);
    assert_float_equal(blocking.host.ns, 1000, 1e-9);
    assert_float_equal(blocking.lost.ns, 300, 1e-9);
    xfa_windows_extend(&other);
    assert_int_equal(other.host.transfers, 0);
    assert_int_equal(other.lost.transfers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always_on), cmocka_unit_test(test_kernels_never),
        cmocka_unit_test(test_counted),   cmocka_unit_test(test_extended),
        cmocka_unit_test(test_none_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
