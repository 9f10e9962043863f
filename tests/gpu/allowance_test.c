/* What recording may cost: the account, and which part is to give way. By counts, without a clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/timing/allowance.h"

#define MS 1000000u

static struct xfs_allowance a;

/* 2 %: 20 ms in the first second. */
static void start(void)
{
    a = (struct xfs_allowance){0};
    assert_true(xfs_allowance_costs(a.record_ns, "1000,2000,3000,4000,5000,6000", false));
    xfs_allowance_start(&a, 2, 0, 0, 0);
}

static void put(unsigned kind, unsigned direction, unsigned count)
{
    struct xft_event record = {.kind = (uint8_t)kind, .direction = (uint8_t)direction};
    while (count-- > 0)
        xfs_allowance_record(&a, &record);
}

static void test_costs(void **state)
{
    (void)state;
    uint32_t costs[XFS_RECORD_COSTS];
    assert_true(xfs_allowance_costs(costs, "1,2,3,4,5,6,7", true));
    assert_int_equal(costs[XFS_COST_LAUNCH], 7);
    assert_true(xfs_allowance_costs(costs, "1,2,3,4,5,6", true));
    assert_int_equal(costs[XFS_COST_LAUNCH], 0);
    assert_int_equal(costs[XFS_COST_TO_DEVICE], 1);
    assert_int_equal(costs[XFS_COST_MOVE], 6);
    assert_true(xfs_allowance_costs(costs, "", true));
    assert_int_equal(costs[XFS_COST_TO_HOST], 0);
    assert_true(xfs_allowance_costs(costs, "", false));
    assert_true(costs[XFS_COST_TO_HOST] > 0);
    assert_false(xfs_allowance_costs(costs, "1,2,3,4,5", false));
    assert_false(xfs_allowance_costs(costs, "1,2,3,4,5,6,7,8", false));
    assert_false(xfs_allowance_costs(costs, "1,2,3,4,5,6,", false));
    assert_false(xfs_allowance_costs(costs, "1,2,3,4,5,", false));
    assert_false(xfs_allowance_costs(costs, "1,2,3,4,5,99999999999", false));
}

/* Each record counts with its own cost: 20 ms are 20,000 uploads, 10,000 downloads, 4000 kernels.
 */
static void test_first_second(void **state)
{
    (void)state;
    static const struct {
        unsigned kind, direction, records;
        enum xfs_part part;
    } rows[] = {
        {XFT_EVENT_DEVICE_COPY, XFT_DIR_H2D, 20000, XFS_PART_COPIES},
        {XFT_EVENT_DEVICE_COPY, XFT_DIR_D2H, 10000, XFS_PART_COPIES},
        {XFT_EVENT_DEVICE_COPY, XFT_DIR_D2D, 6667, XFS_PART_COPIES},
        {XFT_EVENT_MEMSET, 0, 5000, XFS_PART_COPIES},
        {XFT_EVENT_KERNEL, 0, 4000, XFS_PART_KERNELS},
        {XFT_EVENT_FAULT, 0, 3334, XFS_PART_MANAGED},
        {XFT_EVENT_MIGRATION, XFT_DIR_H2D, 3334, XFS_PART_MANAGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start();
        put(rows[i].kind, rows[i].direction, rows[i].records - 1);
        assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PARTS);
        put(rows[i].kind, rows[i].direction, 2);
        assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), rows[i].part);
    }
}

/* 2 % in every second is within the budget for ever; 3 % is not for long. */
static void test_every_second(void **state)
{
    (void)state;
    start();
    for (unsigned second = 1; second <= 1000; second++) {
        put(XFT_EVENT_KERNEL, 0, 4000);
        assert_int_equal(xfs_allowance_look(&a, second * UINT64_C(1000) * MS, 0, 0), XFS_PARTS);
    }
    start();
    unsigned second = 1;
    do
        put(XFT_EVENT_KERNEL, 0, 6000);
    while (xfs_allowance_look(&a, second * UINT64_C(1000) * MS, 0, 0) == XFS_PARTS &&
           second++ < 100);
    assert_in_range(second, 1, 2);
}

/* An idle hour does not pay for a dense second. */
static void test_idle(void **state)
{
    (void)state;
    start();
    assert_int_equal(xfs_allowance_look(&a, UINT64_C(3600000) * MS, 0, 0), XFS_PARTS);
    put(XFT_EVENT_KERNEL, 0, 4001);
    assert_int_equal(xfs_allowance_look(&a, UINT64_C(3600000) * MS, 0, 0), XFS_PART_KERNELS);
}

/* The part that costs most goes first, then the others are judged anew; each goes once. */
static void test_most_first(void **state)
{
    (void)state;
    start();
    put(XFT_EVENT_KERNEL, 0, 3000);                /* 15 ms */
    put(XFT_EVENT_DEVICE_COPY, XFT_DIR_D2H, 5000); /* 10 ms */
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PART_KERNELS);
    xfs_allowance_gave_way(&a, XFS_PART_KERNELS);
    put(XFT_EVENT_KERNEL, 0, 10000); /* late ones of before */
    put(XFT_EVENT_DEVICE_COPY, XFT_DIR_D2H, 4999);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PARTS);
    put(XFT_EVENT_DEVICE_COPY, XFT_DIR_D2H, 2);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PART_COPIES);
    xfs_allowance_gave_way(&a, XFS_PART_COPIES);
    put(XFT_EVENT_DEVICE_COPY, XFT_DIR_D2H, 50000);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PARTS);
}

/* The hooks count; but where they alone are over the budget, records that cost little stay. */
static void test_hooks(void **state)
{
    (void)state;
    start();
    put(XFT_EVENT_KERNEL, 0, 3000);
    assert_int_equal(xfs_allowance_look(&a, 0, 4 * MS, 0), XFS_PARTS);
    assert_int_equal(xfs_allowance_look(&a, 0, 6 * MS, 0), XFS_PART_KERNELS);
    start();
    put(XFT_EVENT_KERNEL, 0, 400);
    assert_int_equal(xfs_allowance_look(&a, 0, 100 * MS, 0), XFS_PARTS);
}

static void test_no_bound(void **state)
{
    (void)state;
    start();
    xfs_allowance_start(&a, 0, 0, 0, 0);
    put(XFT_EVENT_KERNEL, 0, 1000000);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 0), XFS_PARTS);
}

/* Before records are on: 2 % of 10 ms are 200 us. */
static void test_fits(void **state)
{
    (void)state;
    const unsigned copies = 1u << XFS_PART_COPIES, both = copies | 1u << XFS_PART_KERNELS;
    const uint64_t calls[XFS_PARTS] = {[XFS_PART_COPIES] = 100, [XFS_PART_KERNELS] = 10};
    start(); /* a copy 1.5 us, a kernel 5 */
    assert_true(xfs_allowance_fits(&a, 2, 10 * MS, 0, calls, both));
    assert_true(xfs_allowance_fits(&a, 2, 10 * MS, 0, calls, copies));
    assert_false(xfs_allowance_fits(&a, 2, 10 * MS, 1, calls, both));
    assert_true(xfs_allowance_fits(&a, 2, 10 * MS, 50000, calls, copies));
    assert_false(xfs_allowance_fits(&a, 2, 10 * MS, 50001, calls, copies));
    assert_false(xfs_allowance_fits(&a, 1, 10 * MS, 0, calls, both));
    /* Hooks that are over it by themselves: what costs an eighth of it comes all the same. */
    assert_true(xfs_allowance_fits(&a, 2, 60 * MS, 100 * MS, calls, copies));
    assert_false(xfs_allowance_fits(&a, 2, 59 * MS, 100 * MS, calls, copies));
    assert_true(xfs_allowance_matters(&a, 2));
    assert_false(xfs_allowance_matters(&a, 0));
    assert_true(xfs_allowance_costs(a.record_ns, "", true));
    assert_false(xfs_allowance_matters(&a, 2));
}

/* Launches cost while any records are on, also where kernels have none. */
static void test_launches(void **state)
{
    (void)state;
    const unsigned copies = 1u << XFS_PART_COPIES, both = copies | 1u << XFS_PART_KERNELS;
    const uint64_t calls[XFS_PARTS] = {[XFS_PART_KERNELS] = 200};
    start();
    a.record_ns[XFS_COST_LAUNCH] = 1000;
    assert_true(xfs_allowance_fits(&a, 2, 10 * MS, 0, calls, copies));
    assert_false(xfs_allowance_fits(&a, 2, 10 * MS, 1, calls, copies));
    assert_false(xfs_allowance_fits(&a, 2, 10 * MS, 0, calls, both));
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 20000), XFS_PARTS); /* 20 ms, and no more */
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 20001), XFS_PART_COPIES);
    start();
    a.record_ns[XFS_COST_LAUNCH] = 1000;
    put(XFT_EVENT_KERNEL, 0, 1); /* kernels have records: launches count with them */
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 20000), XFS_PART_KERNELS);
    xfs_allowance_gave_way(&a, XFS_PART_KERNELS);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 30000), XFS_PARTS);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 30001), XFS_PART_COPIES);
    xfs_allowance_gave_way(&a, XFS_PART_COPIES);
    assert_int_equal(xfs_allowance_look(&a, 0, 0, 90000), XFS_PARTS);
}

/* Of a class of a million calls some hundred are timed, the first of them all; of two that take
 * turns both, and a class that is met late from its first on. */
static void test_sample(void **state)
{
    (void)state;
    unsigned timed[2] = {0}, odd = 0, even = 0;
    for (unsigned i = 0; i < XFS_SAMPLE_FIRST; i++)
        assert_true(xfs_sample_takes(7, 0x1000));
    for (unsigned i = 0; i < 1000000; i++)
        if (xfs_sample_takes(7, 0x1000)) {
            timed[0]++;
            *(i % 2 ? &odd : &even) += 1;
        }
    for (unsigned i = 0; i < 1000; i++)
        timed[1] += xfs_sample_takes(7, 0x2000);
    assert_in_range(timed[0], 60, 200);
    assert_in_range(timed[1], 20, 80);
    assert_true(odd > timed[0] / 4 && even > timed[0] / 4);
    assert_true(xfs_sample_takes(8, 0x1000));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),        cmocka_unit_test(test_first_second),
        cmocka_unit_test(test_every_second), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_most_first),   cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_no_bound),     cmocka_unit_test(test_fits),
        cmocka_unit_test(test_launches),     cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
