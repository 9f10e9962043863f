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

static void await_hold(unsigned least)
{
    while (*(volatile unsigned *)&hold_tried < least)
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
    assert_int_equal(hold_held, 1);
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
static void test_call_stays(void **state)
{
    (void)state;
    call_stays = true;
    start_bounded("9,4000000,9,9,9,9");
    put_copies(TOO_MANY);
    await_hold(1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    call_stays = false;
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
    assert_int_equal(hold_tried, 0);
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
    assert_int_equal(hold_tried, 0);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(event_count, 100);
}

/* Where recording is limited, calls outside its periods are not held back. */
static void test_periods(void **state)
{
    (void)state;
    atomic_store(&xfs_periods_limited, true);
    start_bounded("9,4000000,9,9,9,9");
    put_copies(100);
    await(&fake->flushes, 1);
    xfs_timing_finish();
    assert_int_equal(hold_tried, 0);
    assert_int_equal(event_count, 100);
}

/* ---- before records are on ------------------------------------------------------------------- */

#define MS UINT64_C(1000000)

static void start_trial(void)
{
    settings.budget_trial_ms = 10;
    start_bounded("1000,1000,1000,1000,1000,1000");
    assert_int_equal(fake->buffers_registered, 0);
    assert_string_equal(timing_meta, "host");
    assert_string_equal(meta_of("timing.sampled"), "1");
}

/* In 10 ms 200 us may be spent: 200 calls. */
static void test_trial_fits(void **state)
{
    (void)state;
    start_trial();
    calls_of[XFT_EVENT_TRANSFER] = 100;
    calls_of[XFT_EVENT_LAUNCH] = 100;
    now += 9 * MS;
    usleep(50000);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    now += 1 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    put_copies(3);
    xfs_timing_finish();
    assert_int_equal(hold_held, 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_true(fake->calls_watched > 50);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(why_meta, "");
    assert_string_equal(meta_of("kernels"), "on");
    assert_int_equal(event_count, 3);
}

/* Copies fit, with kernels they do not: copies come, and kernels once there are fewer. */
static void test_trial_kernels_later(void **state)
{
    (void)state;
    start_trial();
    calls_of[XFT_EVENT_TRANSFER] = 150;
    calls_of[XFT_EVENT_LAUNCH] = 100;
    now += 10 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_MEMSET], 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 0);
    while (strcmp(meta_of("kernels"), "off") != 0 || records_on != XFT_RECORDS_COPIES)
        usleep(1000);
    now += 100 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    xfs_timing_finish();
    assert_int_equal(hold_held, 2);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    assert_string_equal(meta_of("kernels"), "on");
}

/* Too many calls of a kind in every moment. */
static void call_until_refused(unsigned kind)
{
    for (int moment = 0; records_why != XFT_RECORDS_BUDGET; moment++) {
        calls_of[kind] += 100000;
        now += 110 * MS;
        usleep(20000);
        assert_in_range(moment, 0, 1000);
    }
}

/* Too many in every moment of the first second: CUPTI's records never come. */
static void test_trial_refused(void **state)
{
    (void)state;
    start_trial();
    call_until_refused(XFT_EVENT_TRANSFER);
    xfs_timing_finish();
    assert_int_equal(hold_tried, 0);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(fake->buffers_registered, 0);
    assert_int_equal(records_on, 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "would cost more than the budget of 2 %"));
}

/* Launches only: they would cost as soon as copies had records. */
static void test_trial_of_launches(void **state)
{
    (void)state;
    settings.budget_trial_ms = 10;
    start_bounded("1000,1000,1000,1000,1000,1000,1000");
    call_until_refused(XFT_EVENT_LAUNCH);
    xfs_timing_finish();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_string_equal(timing_meta, "host");
}

/* The hooks alone are over the budget: records that cost next to nothing come nevertheless. */
static void test_trial_of_costly_hooks(void **state)
{
    (void)state;
    start_trial();
    hooks_cost = 5 * MS;
    calls_of[XFT_EVENT_TRANSFER] = 20;
    now += 10 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_MEMSET], 1);
    xfs_timing_finish();
    assert_string_equal(timing_meta, "cupti");
}

/* 10 ms later, and looked at: once at the end of a window, once at the beginning of the next. */
static void next_window(void)
{
    unsigned before = atomic_load(&cost_asked);
    now += 10 * MS;
    while (atomic_load(&cost_asked) < before + 2)
        usleep(1000);
}

/* Of the default: two windows of 10 ms in a row with 64 calls and more in all. */
static void test_trial_by_calls(void **state)
{
    (void)state;
    settings.budget_trial_ms = 100;
    start_bounded("1000,1000,1000,1000,1000,1000");
    for (int window = 0; window < 3; window++)
        next_window();
    calls_of[XFT_EVENT_TRANSFER] += 1000; /* too many */
    next_window();
    calls_of[XFT_EVENT_TRANSFER] += 10;
    next_window();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    now += 10 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    xfs_timing_finish();
    assert_string_equal(timing_meta, "cupti");
}

/* Few calls: known when the time is over. */
static void test_trial_by_time(void **state)
{
    (void)state;
    settings.budget_trial_ms = 100;
    start_bounded("1000,1000,1000,1000,1000,1000");
    calls_of[XFT_EVENT_TRANSFER] = 20;
    for (int window = 0; window < 9; window++)
        next_window();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    now += 10 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    xfs_timing_finish();
    assert_string_equal(timing_meta, "cupti");
}

/* Managed memory that was used meanwhile is recorded from then on, too. */
static void test_trial_managed(void **state)
{
    (void)state;
    start_trial();
    xfs_timing_managed();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 0);
    now += 10 * MS;
    await(&fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    xfs_timing_finish();
    assert_string_equal(meta_of("managed"), "on");
}

/* Another profiler takes CUPTI over meanwhile. */
static void test_trial_yields(void **state)
{
    (void)state;
    start_trial();
    xfs_timing_yield(false);
    assert_int_equal(fake->unsubscribed, 1);
    now += 1000 * MS;
    xfs_timing_finish();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_non_null(strstr(why_meta, "another profiler"));
}

#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        TEST(copies_give_way),   TEST(numbers_end_with_copies),
        TEST(kernels_give_way),  TEST(managed_gives_way),
        TEST(call_stays),        TEST(within),
        TEST(no_bound),          TEST(periods),
        TEST(trial_fits),        TEST(trial_kernels_later),
        TEST(trial_refused),     TEST(trial_of_costly_hooks),
        TEST(trial_of_launches), TEST(trial_by_calls),
        TEST(trial_by_time),     TEST(trial_managed),
        TEST(trial_yields),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
