/* Device timing against a stand-in for CUPTI: copies, clocks, correlation. */
#include "tests/gpu/timing_world.h"

#include "preload/timing/records.h"

static void test_copy(void **state)
{
    begin();
    assert_string_equal(timing_meta, "cupti");
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY2], 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMSET], 1);
    assert_true(fake->calls_watched > 50);
    assert_int_equal(records_on, XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);
    assert_true(fake->clock == xfs_now_ns);
    struct xcp_memcpy r = a_copy(42);
    put(&r, sizeof r);
    xfs_timing_finish();
    assert_int_equal(fake->forced_flushes, 1);
    assert_int_equal(event_count, 1);
    struct xft_event *e = &events[0];
    assert_int_equal(e->kind, XFT_EVENT_DEVICE_COPY);
    assert_int_equal(e->direction, XFT_DIR_H2D);
    assert_int_equal(e->start_ns, 5000);
    assert_int_equal(e->end_ns, 6000);
    assert_int_equal(e->bytes, 4096);
    assert_int_equal(e->width, 4096);
    assert_int_equal(e->src_mem, XFT_MEM_PINNED);
    assert_int_equal(e->dst_mem, XFT_MEM_DEVICE);
    assert_int_equal(e->src_place, XFT_PLACE_HOST);
    assert_int_equal(e->dst_place, 3);
    assert_int_equal(e->device, 3);
    assert_int_equal(e->aux, 7);
    assert_int_equal(e->correlation, 42);
    assert_int_equal(e->count, 1);
    assert_int_equal(e->flags, XFT_ASYNC);
    assert_int_equal(lost, 0);
}

static void test_directions(void **state)
{
    static const struct {
        uint8_t kind, direction;
        int src, dst;
    } rows[] = {
        {XCP_COPY_HTOD, XFT_DIR_H2D, XFT_PLACE_HOST, 3},
        {XCP_COPY_HTOA, XFT_DIR_H2D, XFT_PLACE_HOST, 3},
        {XCP_COPY_DTOH, XFT_DIR_D2H, 3, XFT_PLACE_HOST},
        {XCP_COPY_ATOH, XFT_DIR_D2H, 3, XFT_PLACE_HOST},
        {XCP_COPY_ATOA, XFT_DIR_D2D, 3, 3},
        {XCP_COPY_ATOD, XFT_DIR_D2D, 3, 3},
        {XCP_COPY_DTOA, XFT_DIR_D2D, 3, 3},
        {XCP_COPY_DTOD, XFT_DIR_D2D, 3, 3},
        {XCP_COPY_HTOH, XFT_DIR_H2H, XFT_PLACE_HOST, XFT_PLACE_HOST},
        {0, XFT_DIR_UNKNOWN, XFT_PLACE_UNKNOWN, XFT_PLACE_UNKNOWN},
        {200, XFT_DIR_UNKNOWN, XFT_PLACE_UNKNOWN, XFT_PLACE_UNKNOWN},
    };
    size_t count = sizeof rows / sizeof rows[0];
    begin();
    for (size_t i = 0; i < count; i++) {
        struct xcp_memcpy r = a_copy((uint32_t)i + 1);
        r.copy_kind = rows[i].kind;
        r.src_kind = (uint8_t)(i * 40); /* most of them are no kind of memory */
        put(&r, sizeof r);
    }
    xfs_timing_finish();
    assert_int_equal(event_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(events[i].direction, rows[i].direction);
        assert_int_equal(events[i].src_place, rows[i].src);
        assert_int_equal(events[i].dst_place, rows[i].dst);
        assert_int_equal(events[i].src_mem, XFT_MEM_UNKNOWN);
    }
}

static void test_peer_and_memset(void **state)
{
    struct xcp_memcpy_peer peer = {
        .kind = XCP_ACTIVITY_MEMCPY2,
        .copy_kind = XCP_COPY_PTOP,
        .src_kind = XCP_MEMORY_DEVICE,
        .dst_kind = XCP_MEMORY_MANAGED,
        .flags = XCP_MEMCPY_ASYNC,
        .bytes = 100,
        .start = 1,
        .end = 2,
        .device = 1,
        .src_device = 1,
        .dst_device = 2,
        .correlation = 9,
    };
    struct xcp_memset set = {
        .kind = XCP_ACTIVITY_MEMSET,
        .bytes = 200,
        .start = 3,
        .end = 4,
        .device = 1,
        .stream = 13,
        .correlation = 10,
        .memory_kind = XCP_MEMORY_DEVICE_STATIC,
        .flags = XCP_MEMSET_ASYNC,
    };
    struct xcp_activity other = {.kind = 77};
    begin();
    put(&peer, sizeof peer);
    put(&other, sizeof other);
    put(&set, sizeof set);
    xfs_timing_finish();
    assert_int_equal(event_count, 2);
    assert_int_equal(events[0].direction, XFT_DIR_P2P);
    assert_int_equal(events[0].src_place, 1);
    assert_int_equal(events[0].dst_place, 2);
    assert_int_equal(events[0].dst_mem, XFT_MEM_MANAGED);
    assert_int_equal(events[0].correlation, 9);
    assert_int_equal(events[0].flags, XFT_ASYNC);
    assert_int_equal(events[1].kind, XFT_EVENT_MEMSET);
    assert_int_equal(events[1].bytes, 200);
    assert_int_equal(events[1].dst_mem, XFT_MEM_DEVICE);
    assert_int_equal(events[1].correlation, 10);
    assert_int_equal(events[1].aux, 13);
    assert_int_equal(events[1].flags, XFT_ASYNC);
}

static void test_batch(void **state)
{
    struct xcp_memcpy r = a_copy(1);
    r.copy_count = 12;
    begin();
    put(&r, sizeof r);
    xfs_timing_finish();
    assert_int_equal(events[0].count, 12);
}

/* Before CUDA 12.8 the record ends before the count. */
static void test_batch_unknown(void **state)
{
    struct xcp_memcpy r = a_copy(1);
    r.copy_count = 12;
    fake->version = 25;
    begin();
    put(&r, sizeof r);
    xfs_timing_finish();
    assert_int_equal(events[0].count, 1);
}

static void test_losses(void **state)
{
    struct xcp_memcpy good = a_copy(1), no_time = a_copy(2), backwards = a_copy(3);
    no_time.start = no_time.end = 0;
    backwards.end = backwards.start - 1;
    begin();
    put(&no_time, sizeof no_time);
    put(&good, sizeof good);
    put(&backwards, sizeof backwards);
    fake->dropped = 5;
    xfs_timing_finish();
    assert_int_equal(event_count, 1);
    assert_int_equal(events[0].correlation, 1);
    assert_int_equal(lost, 7);
}

/* More than a few buffers: all are recorded in order, and buffers come back zeroed. */
static void test_many(void **state)
{
    begin();
    assert_true(fake->zeroed_promised);
    for (uint32_t i = 1; i <= EVENTS; i++) {
        struct xcp_memcpy r = a_copy(i);
        put(&r, sizeof r);
    }
    xfs_timing_finish();
    assert_int_equal(event_count, EVENTS);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(events[i].correlation, i + 1);
    assert_int_equal(fake->dirty_buffers, 0);
}

static xcp_result no_record(uint8_t *buffer, size_t valid, struct xcp_activity **record)
{
    return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
}

static xcp_result none_dropped(void *context, uint32_t stream, size_t *dropped)
{
    *dropped = 0;
    return XCP_SUCCESS;
}

/* A buffer that was filled in part is as empty as a new one when it is requested again. */
static void test_part_filled(void **state)
{
    struct xcp_library library = {.ActivityGetNextRecord = no_record,
                                  .ActivityGetNumDroppedRecords = none_dropped};
    uint8_t *first, *again;
    size_t size, most, filled = 10000;
    atomic_bool stop = false;
    xfs_records_setup(&library, false);
    xfs_records_requested(&first, &size, &most);
    assert_non_null(first);
    memset(first, 0xff, filled);
    xfs_records_completed(NULL, 0, first, size, filled);
    xfs_records_drain(&stop);
    xfs_records_requested(&again, &size, &most);
    assert_ptr_equal(again, first);
    for (size_t i = 0; i < filled; i++)
        assert_int_equal(again[i], 0);
}

/* A CUPTI that cannot be given a clock: its own times are converted. */
static void test_own_clock(void **state)
{
    struct xcp_memcpy r = a_copy(1);
    fake->clock_result = 1;
    fake->clock_offset = 1700000000000000000;
    r.start += (uint64_t)fake->clock_offset;
    r.end += (uint64_t)fake->clock_offset;
    begin();
    put(&r, sizeof r);
    xfs_timing_finish();
    assert_int_equal(events[0].start_ns, 5000);
    assert_int_equal(events[0].end_ns, 6000);
}

/* Calls nest; the number of the outermost one is the one on the records. */
static void test_correlation(void **state)
{
    struct xcp_callback_data enter = {.site = XCP_SITE_ENTER}, leave = {.site = 1};
    begin();
    xfs_timing_call_begin();
    enter.correlation = 7;
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 277, &enter);
    enter.correlation = 8;
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 276, &enter);
    leave.correlation = 9;
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 276, &leave);
    assert_int_equal(xfs_timing_correlation(), 7);
    assert_int_equal(xfs_timing_correlation(), 0);
    fake->on_call(NULL, XCP_DOMAIN_DRIVER, 276, &enter);
    xfs_timing_call_begin();
    assert_int_equal(xfs_timing_correlation(), 0);
    xfs_timing_finish();
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)
    const struct CMUnitTest tests[] = {
        TEST(copy),   TEST(directions), TEST(peer_and_memset), TEST(batch),     TEST(batch_unknown),
        TEST(losses), TEST(many),       TEST(part_filled),     TEST(own_clock), TEST(correlation),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
