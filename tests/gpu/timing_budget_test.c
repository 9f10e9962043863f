/* The budget against a stand-in for CUPTI: what is switched off, when, and what the trace says. */
#include "tests/gpu/timing_world.h"

/* The costs that the tests set: 4 ms a record. Of 2 % of a second, 20 ms, six are more. */
#define TOO_MANY 6

static void start_bounded(const char *costs)
{
    settings.budget = 2;
    snprintf(settings.budget_costs, sizeof settings.budget_costs, "%s", costs);
    begin();
}

static void put_copies(int copies)
{
    struct xcp_memcpy r = {.kind = XCP_ACTIVITY_MEMCPY,
                           .copy_kind = XCP_COPY_DTOH,
                           .bytes = 64,
                           .start = 5000,
                           .end = 6000};
    for (int i = 0; i < copies; i++) {
        r.correlation = (uint32_t)i + 1;
        put(&r, sizeof r);
    }
}

static void put_kernels(int kernels)
{
    struct xcp_kernel r = {.kind = XCP_ACTIVITY_KERNEL,
                           .start = 7000,
                           .end = 7500,
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1}};
    for (int i = 0; i < kernels; i++)
        put(&r, sizeof r);
}

static void put_faults(int faults)
{
    struct xcp_counter_record r = {.kind = XCP_ACTIVITY_COUNTER,
                                   .counter = XCP_COUNTER_GPU_FAULT,
                                   .value = 1,
                                   .start = 100,
                                   .end = 200};
    for (int i = 0; i < faults; i++)
        put(&r, sizeof r);
}

/* The recorder's thread looks from time to time; the test's own limit ends a wait that is in vain.
 */
static void await(const int *number, int least)
{
    while (*(const volatile int *)number < least)
        usleep(1000);
}

static void await_gate(unsigned least)
{
    while (*(volatile unsigned *)&gate_tried < least)
        usleep(1000);
}

static void test_copies_give_way(void **state)
{
    (void)state;
    start_bounded("9,4000000,9,9,9,9");
    assert_string_equal(meta_of("budget"), "2");
    put_copies(TOO_MANY);
    await(&fake->kinds_disabled[XCP_ACTIVITY_MEMSET], 1);
    xfs_timing_finish();
    assert_int_equal(gate_passed, 1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY2], 1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_KERNEL], 0);
    assert_int_equal(fake->unsubscribed, 0);
    assert_int_equal(records_on, XFT_RECORDS_KERNELS);
    assert_int_equal(records_why, XFT_RECORDS_BUDGET);
    assert_int_equal(event_count, TOO_MANY);
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(meta_of("timing.sampled"), "1");
    assert_string_equal(meta_of("budget.copies_until_ns"), "1000000");
    assert_non_null(strstr(why_meta, "no times of copies and memsets from 0 s on"));
    assert_null(strstr(why_meta, "kernels"));
}

/* CUPTI goes on numbering calls; without records their numbers would join nothing. */
static void test_numbers_end_with_copies(void **state)
{
    (void)state;
    struct xcp_callback_data enter = {.site = XCP_SITE_ENTER, .correlation = 7};
    start_bounded("9,4000000,9,9,9,9");
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 276, &enter);
    assert_int_equal(xfs_timing_correlation(), 7);
    put_copies(TOO_MANY);
    await(&fake->kinds_disabled[XCP_ACTIVITY_MEMSET], 1);
    xfs_timing_finish();
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 276, &enter);
    assert_int_equal(xfs_timing_correlation(), 0);
}

/* What costs most goes; copies stay, although they cost something. */
static void test_kernels_give_way(void **state)
{
    (void)state;
    start_bounded("9,2000000,9,9,4000000,9");
    put_copies(2);
    put_kernels(TOO_MANY);
    await(&fake->kinds_disabled[XCP_ACTIVITY_KERNEL], 1);
    xfs_timing_finish();
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(records_on, XFT_RECORDS_COPIES);
    assert_string_equal(meta_of("timing.sampled"), "");
    assert_string_equal(meta_of("budget.kernels_until_ns"), "1000000");
    assert_non_null(strstr(why_meta, "no times of kernels"));
}

static void test_managed_gives_way(void **state)
{
    (void)state;
    start_bounded("9,9,9,9,9,4000000");
    xfs_timing_managed();
    put_faults(TOO_MANY);
    await(&fake->kinds_disabled[XCP_ACTIVITY_COUNTER], 1);
    xfs_timing_finish();
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_KERNEL], 0);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    assert_string_equal(meta_of("budget.managed_until_ns"), "1000000");
}

/* A call that stays in the driver: nothing is switched off beside it, and it is tried again. */
static void test_gate_stays_open(void **state)
{
    (void)state;
    gate_stays_open = true;
    start_bounded("9,4000000,9,9,9,9");
    put_copies(TOO_MANY);
    await_gate(1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    gate_stays_open = false;
    now += UINT64_C(10000000000);
    await(&fake->kinds_disabled[XCP_ACTIVITY_MEMSET], 1);
    xfs_timing_finish();
    assert_int_equal(records_on, XFT_RECORDS_KERNELS);
}

/* Five records are within the budget. */
static void test_within(void **state)
{
    (void)state;
    start_bounded("9,4000000,9,9,9,9");
    put_copies(TOO_MANY - 1);
    await(&fake->flushes, 1);
    put_copies(0);
    await(&fake->flushes, 1);
    xfs_timing_finish();
    assert_int_equal(gate_tried, 0);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_string_equal(why_meta, "");
}

static void test_no_bound(void **state)
{
    (void)state;
    snprintf(settings.budget_costs, sizeof settings.budget_costs, "9,4000000,9,9,9,9");
    begin();
    put_copies(100);
    await(&fake->flushes, 1);
    xfs_timing_finish();
    assert_int_equal(gate_tried, 0);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(event_count, 100);
}

/* Where recording is limited, calls outside its periods do not pass the gate. */
static void test_periods(void **state)
{
    (void)state;
    atomic_store(&xfs_periods_limited, true);
    start_bounded("9,4000000,9,9,9,9");
    put_copies(100);
    await(&fake->flushes, 1);
    xfs_timing_finish();
    assert_int_equal(gate_tried, 0);
    assert_int_equal(event_count, 100);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        TEST(copies_give_way),  TEST(numbers_end_with_copies),
        TEST(kernels_give_way), TEST(managed_gives_way),
        TEST(gate_stays_open),  TEST(within),
        TEST(no_bound),         TEST(periods),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
