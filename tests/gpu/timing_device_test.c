/* Device timing against a stand-in for CUPTI: kernels and managed memory. */
#include "tests/gpu/timing_world.h"

static struct xcp_kernel a_kernel(const char *name)
{
    return (struct xcp_kernel){
        .kind = XCP_ACTIVITY_KERNEL,
        .start = 7000,
        .end = 7500,
        .device = 2,
        .stream = 13,
        .grid = {10, 2, 3},
        .block = {32, 4, 2},
        .correlation = 99,
        .name = name,
    };
}

static void test_kernel(void **state)
{
    struct xcp_kernel r = a_kernel("_Z3addPf"), nameless = a_kernel(NULL);
    begin();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 1);
    assert_string_equal(meta_of("kernels"), "on");
    put(&r, sizeof r);
    put(&nameless, sizeof nameless);
    xfs_timing_finish();
    assert_int_equal(event_count, 2);
    struct xft_event *e = &events[0];
    assert_int_equal(e->kind, XFT_EVENT_KERNEL);
    assert_int_equal(e->start_ns, 7000);
    assert_int_equal(e->end_ns, 7500);
    assert_int_equal(e->device, 2);
    assert_int_equal(e->aux, 13);
    assert_int_equal(e->dst, 10 * 2 * 3 * 32 * 4 * 2);
    assert_int_equal(e->bytes, 0);
    assert_int_equal(e->correlation, 99);
    assert_int_equal(e->src, 1);
    assert_string_equal(names[0], "_Z3addPf");
    assert_int_equal(events[1].src, 0);
}

static void test_no_kernels(void **state)
{
    settings.kernels = false;
    begin();
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(meta_of("kernels"), "off");
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_KERNEL], 0);
    assert_int_equal(records_on, XFT_RECORDS_COPIES);
    xfs_timing_finish();
}

static void test_kernels_refused(void **state)
{
    fake->refused_kind = XCP_ACTIVITY_KERNEL;
    begin();
    assert_string_equal(timing_meta, "cupti");
    assert_string_equal(meta_of("kernels"), "off");
    assert_int_equal(records_on, XFT_RECORDS_COPIES);
    xfs_timing_finish();
}

static struct xcp_counter_record a_counter(int counter)
{
    return (struct xcp_counter_record){
        .kind = XCP_ACTIVITY_COUNTER,
        .counter = counter,
        .value = 65536,
        .start = 100,
        .end = 200,
        .address = 0x7000000,
        .src = 1,
        .dst = 2,
        .flags = 2,
    };
}

static void test_migrations(void **state)
{
    static const struct {
        int counter, direction, src, dst, device;
    } rows[] = {
        {XCP_COUNTER_HTOD, XFT_DIR_H2D, XFT_PLACE_HOST, 2, 2},
        {XCP_COUNTER_DTOH, XFT_DIR_D2H, 1, XFT_PLACE_HOST, 1},
        {XCP_COUNTER_DTOD, XFT_DIR_P2P, 1, 2, 2},
    };
    struct xcp_counter_record other = a_counter(6); /* throttling: not in the trace */
    begin();
    xfs_timing_managed();
    put(&other, sizeof other);
    for (size_t i = 0; i < 3; i++) {
        struct xcp_counter_record r = a_counter(rows[i].counter);
        put(&r, sizeof r);
    }
    xfs_timing_finish();
    assert_int_equal(event_count, 3);
    for (size_t i = 0; i < 3; i++) {
        struct xft_event *e = &events[i];
        assert_int_equal(e->kind, XFT_EVENT_MIGRATION);
        assert_int_equal(e->direction, rows[i].direction);
        assert_int_equal(e->src_place, rows[i].src);
        assert_int_equal(e->dst_place, rows[i].dst);
        assert_int_equal(e->device, rows[i].device);
        assert_int_equal(e->bytes, 65536);
        assert_int_equal(e->src, 0x7000000);
        assert_int_equal(e->aux, XFT_CAUSE_COHERENCE);
        assert_int_equal(e->start_ns, 100);
        assert_int_equal(e->end_ns, 200);
    }
    assert_int_equal(lost, 0);
}

static void test_faults(void **state)
{
    struct xcp_counter_record gpu = a_counter(XCP_COUNTER_GPU_FAULT),
                              cpu = a_counter(XCP_COUNTER_CPU_FAULT);
    gpu.value = 12;
    cpu.value = 0x401234;
    cpu.end = 0;
    begin();
    xfs_timing_managed();
    put(&gpu, sizeof gpu);
    put(&cpu, sizeof cpu);
    xfs_timing_finish();
    assert_int_equal(event_count, 2);
    assert_int_equal(events[0].kind, XFT_EVENT_FAULT);
    assert_int_equal(events[0].count, 12);
    assert_int_equal(events[0].device, 1);
    assert_int_equal(events[0].aux, XFT_ACCESS_WRITE);
    assert_int_equal(events[0].end_ns, 200);
    assert_int_equal(events[0].bytes, 0);
    assert_int_equal(events[0].stack, 0);
    assert_int_equal(events[1].count, 1);
    assert_int_equal(events[1].device, XFT_PLACE_HOST);
    assert_int_equal(events[1].end_ns, 0);
    assert_int_equal(events[1].stack, 17);
    assert_int_equal(last_place, 0x401234);
}

/* Nothing is switched on for a process without managed memory. */
static void test_managed_late(void **state)
{
    begin();
    assert_string_equal(meta_of("managed"), "on");
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 0);
    xfs_timing_managed();
    xfs_timing_managed();
    assert_int_equal(fake->counters, 5);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    xfs_timing_finish();
}

static void test_managed_early(void **state)
{
    xfs_timing_managed();
    xfs_timing_managed();
    begin();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    xfs_timing_finish();
}

static void test_managed_off(void **state)
{
    settings.managed = false;
    begin();
    xfs_timing_managed();
    assert_string_equal(meta_of("managed"), "off");
    assert_int_equal(fake->counters, 0);
    xfs_timing_finish();
}

/* No bytes between devices: the others all the same. */
static void test_managed_fewer(void **state)
{
    fake->counters_most = 4;
    begin();
    xfs_timing_managed();
    assert_string_equal(meta_of("managed"), "on");
    assert_int_equal(fake->counters, 4);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    xfs_timing_finish();
}

static void test_managed_refused(void **state)
{
    fake->counters_most = 0;
    begin();
    xfs_timing_managed();
    assert_string_equal(meta_of("managed"), "off");
    assert_string_equal(meta_of("managed.why"),
                        "cuptiActivityConfigureUnifiedMemoryCounter failed: 24");
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 0);
    assert_string_equal(timing_meta, "cupti");
    xfs_timing_finish();
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)
    const struct CMUnitTest tests[] = {
        TEST(kernel),        TEST(no_kernels),      TEST(kernels_refused), TEST(migrations),
        TEST(faults),        TEST(managed_late),    TEST(managed_early),   TEST(managed_off),
        TEST(managed_fewer), TEST(managed_refused),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
