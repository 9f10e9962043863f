/* CUPTI that serves several clients, and kernel times from hardware, against a stand-in that keeps
 * NVIDIA's rules: which way is taken, and that other clients are left alone. */
#include "tests/gpu/timing_world.h"

static int (*other)(int several, int kind);
static int (*others_records)(void);

/* A copy and a driver that serve several. */
static void make_new(void)
{
    void *copy = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    other = (__typeof__(other))dlsym(copy, "fake_cupti_other");
    others_records = (__typeof__(others_records))dlsym(copy, "fake_cupti_other_records");
    fake->version = XCP_VERSION_SEVERAL_CLIENTS;
    driver_version = XCP_DRIVER_SEVERAL_CLIENTS;
}

static void make_newest(void)
{
    make_new();
    fake->version = XCP_VERSION_HARDWARE_EVENTS;
    settings.hardware_times = true;
}

static void put_copy(uint32_t correlation, uint64_t start)
{
    struct xcp_memcpy r = {.kind = XCP_ACTIVITY_MEMCPY,
                           .copy_kind = XCP_COPY_HTOD,
                           .bytes = 64,
                           .start = start,
                           .end = start + 1000,
                           .correlation = correlation};
    put(&r, sizeof r);
}

/* Alone among several: device times as ever, and nothing of the first kind. */
static void assert_joined(void)
{
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(meta_of("timing.shared"), "1");
    assert_int_equal(fake->subscribed, 1);
    assert_int_equal(fake->mixed, 0);
    assert_null(fake->clock);
}

/* The first kind of calls. */
static void assert_alone(void)
{
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(meta_of("timing.shared"), "");
    assert_int_equal(fake->clients, 0);
    assert_true(fake->clock == xfs_now_ns);
}

/* ---- which way ------------------------------------------------------------------------------- */

static void test_several(void **state)
{
    make_new();
    begin();
    assert_joined();
    assert_int_equal(fake->clients, 1);
    assert_int_equal(fake->buffers_registered, 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    assert_true(fake->calls_watched > 50);
    xfs_timing_finish();
    assert_int_equal(fake->forced_flushes, 1);
    assert_int_equal(fake->mixed, 0);
    assert_int_equal(fake->hardware_asked, 0);
}

/* Their times are CUPTI's own, since the trace's clock cannot be given to one of several. */
static void test_records_of_several(void **state)
{
    make_new();
    fake->clock_offset = 1700000000000000000;
    begin();
    put_copy(42, 5000 + (uint64_t)fake->clock_offset);
    fake->dropped = 3;
    xfs_timing_finish();
    assert_int_equal(event_count, 1);
    assert_int_equal(events[0].correlation, 42);
    assert_int_equal(events[0].start_ns, 5000);
    assert_int_equal(events[0].end_ns, 6000);
    assert_int_equal(lost, 3);
    assert_int_equal(fake->mixed, 0);
}

static void test_older_copy(void **state)
{
    make_new();
    fake->version = XCP_VERSION_SEVERAL_CLIENTS - 1; /* where it was a preview */
    begin();
    assert_alone();
    xfs_timing_finish();
}

static void test_older_driver(void **state)
{
    make_new();
    driver_version = XCP_DRIVER_SEVERAL_CLIENTS - 1;
    begin();
    assert_alone();
    xfs_timing_finish();
}

static void test_part_of_it(void **state)
{
    make_new();
    hidden = "cuptiActivityGetNextRecord_v2";
    begin();
    assert_alone();
    xfs_timing_finish();
}

/* What the driver says of itself does not hold: the first kind of calls is tried. */
static void test_refused(void **state)
{
    make_new();
    fake->old_driver = 1;
    begin();
    assert_alone();
    xfs_timing_finish();
}

static void test_clock_fails(void **state)
{
    make_new();
    fake->clock_is_broken = 1;
    begin();
    assert_alone();
    assert_int_equal(fake->unsubscribed, 1); /* the one that could not tell the time */
    xfs_timing_finish();
}

/* ---- others ---------------------------------------------------------------------------------- */

/* Another one was there first, and welcomes us; both have their records, and none is taken from the
 * other before its time. */
static void test_other_before(void **state)
{
    make_new();
    assert_int_equal(other(1, XCP_ACTIVITY_MEMCPY), XCP_SUCCESS);
    begin();
    assert_joined();
    assert_int_equal(fake->clients, 2);
    put_copy(1, 5000);
    xfs_timing_finish();
    assert_int_equal(event_count, 1);
    assert_int_equal(others_records(), 1);
    assert_int_equal(fake->forced_flushes, 0);
}

/* Another one was there first, and wants to be alone. */
static void test_other_alone_before(void **state)
{
    make_new();
    assert_int_equal(other(0, XCP_ACTIVITY_MEMCPY), XCP_SUCCESS);
    begin();
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "another profiler (CUPTI for the other) is using CUPTI"));
    assert_int_equal(fake->clients, 1);
    assert_int_equal(fake->buffers_registered, 1); /* its own */
    xfs_timing_finish();
    assert_int_equal(fake->flushes, 0);
}

/* One that comes later, and shares: nothing ends. */
static void test_other_joins(void **state)
{
    make_new();
    begin();
    put_copy(1, 5000);
    xfs_timing_yield(true);
    assert_int_equal(other(1, XCP_ACTIVITY_MEMCPY), XCP_SUCCESS);
    put_copy(2, 7000);
    assert_int_equal(fake->unsubscribed, 0);
    xfs_timing_finish();
    assert_string_equal(why_meta, "");
    assert_int_equal(event_count, 2);
    assert_int_equal(others_records(), 1);
    assert_int_equal(fake->forced_flushes, 0);
}

/* One that comes later and wants CUPTI for itself gets it. */
static void test_other_alone(void **state)
{
    make_new();
    begin();
    put_copy(1, 5000);
    xfs_timing_yield(false);
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_int_equal(event_count, 1);
    assert_int_equal(fake->mixed, 0);
    assert_int_equal(other(0, XCP_ACTIVITY_MEMCPY), XCP_SUCCESS);
    assert_non_null(strstr(why_meta, "another profiler took CUPTI over"));
    xfs_timing_finish();
}

/* One that is content to share, and a CUPTI that serves one only. */
static void test_old_profiler(void **state)
{
    begin();
    assert_alone();
    xfs_timing_yield(true);
    assert_int_equal(fake->unsubscribed, 1);
    assert_non_null(strstr(why_meta, "another profiler took CUPTI over"));
    xfs_timing_finish();
}

/* Asked for by name, CUPTI is kept; where it is shared, both have it. */
static void test_by_name(void **state)
{
    make_new();
    settings.timing = 1;
    begin();
    assert_joined();
    xfs_timing_yield(false);
    assert_int_equal(fake->unsubscribed, 0);
    assert_int_equal(other(0, XCP_ACTIVITY_MEMCPY), XCP_ERROR_MULTIPLE_SUBSCRIBERS);
    assert_int_equal(other(1, XCP_ACTIVITY_MEMCPY), XCP_SUCCESS);
    xfs_timing_finish();
}

/* ---- kernel times from hardware -------------------------------------------------------------- */

static void test_hardware(void **state)
{
    make_newest();
    begin();
    assert_joined();
    assert_int_equal(fake->hardware, 1);
    assert_string_equal(meta_of("kernels.hardware"), "1");
    int before = *(volatile int *)&fake->flushes;
    while (*(volatile int *)&fake->flushes == before) /* no buffer is out, and it flushes */
        usleep(1000);
    xfs_timing_finish();
}

static void test_hardware_unasked(void **state)
{
    make_newest();
    settings.hardware_times = false;
    begin();
    assert_joined();
    assert_int_equal(fake->hardware_asked, 0);
    assert_string_equal(meta_of("kernels.hardware"), "");
    xfs_timing_finish();
}

/* Before its faults were mended. */
static void test_hardware_too_old(void **state)
{
    make_newest();
    fake->version = XCP_VERSION_HARDWARE_EVENTS - 1;
    begin();
    assert_joined();
    assert_int_equal(fake->hardware_asked, 0);
    xfs_timing_finish();
}

/* It would be theirs, too. */
static void test_hardware_with_others(void **state)
{
    make_newest();
    assert_int_equal(other(1, XCP_ACTIVITY_KERNEL), XCP_SUCCESS);
    begin();
    assert_joined();
    assert_int_equal(fake->hardware_asked, 0);
    xfs_timing_finish();
}

/* An older GPU: kernel times as ever. */
static void test_no_hardware(void **state)
{
    make_newest();
    fake->no_hardware = 1;
    begin();
    assert_joined();
    assert_int_equal(fake->hardware_asked, 1);
    assert_string_equal(meta_of("kernels.hardware"), "");
    assert_string_equal(meta_of("kernels"), "on");
    xfs_timing_finish();
}

#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        TEST(several),
        TEST(records_of_several),
        TEST(older_copy),
        TEST(older_driver),
        TEST(part_of_it),
        TEST(refused),
        TEST(clock_fails),
        TEST(other_before),
        TEST(other_alone_before),
        TEST(other_joins),
        TEST(other_alone),
        TEST(old_profiler),
        TEST(by_name),
        TEST(hardware),
        TEST(hardware_unasked),
        TEST(hardware_too_old),
        TEST(hardware_with_others),
        TEST(no_hardware),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
