/* Device timing against a stand-in for CUPTI: copies, clocks, other profilers, the end. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "preload/base/headroom.h"
#include "preload/timing/collector.h"
#include "tests/gpu/timing_world.h"

#include "preload/timing/records.h"

static struct xcp_memcpy a_copy(uint32_t correlation)
{
    return (struct xcp_memcpy){
        .kind = XCP_ACTIVITY_MEMCPY,
        .copy_kind = XCP_COPY_HTOD,
        .src_kind = XCP_MEMORY_PINNED,
        .dst_kind = XCP_MEMORY_DEVICE,
        .flags = XCP_MEMCPY_ASYNC,
        .bytes = 4096,
        .start = 5000,
        .end = 6000,
        .device = 3,
        .stream = 7,
        .correlation = correlation,
        .copy_count = 1,
    };
}

/* ---- tests ------------------------------------------------------------------------------------
 */

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

/* A buffer that was filled in part is as empty as a new one when it is handed out again. */
static void test_part_filled(void **state)
{
    struct xcp_library library = {.ActivityGetNextRecord = no_record,
                                  .ActivityGetNumDroppedRecords = none_dropped};
    uint8_t *first, *again;
    size_t size, most, filled = 10000;
    bool stop = false;
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

/* A process that transfers nothing subscribes, before its first context, and has no records. */
static void test_nothing_moves(void **state)
{
    assert_true(xfs_timing_start(NULL));
    assert_int_equal(fake->subscribed, 1);
    assert_int_equal(fake->buffers_registered, 0);
    assert_int_equal(fake->calls_watched, 0);
    assert_string_equal(timing_meta, "none");
    assert_string_equal(why_meta, "nothing was transferred");
    assert_string_equal(meta_of("kernels"), "off");
    xfs_timing_finish();
    xfs_timing_attach();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(fake->flushes, 0);
    assert_string_equal(timing_meta, "none");
}

/* Where contexts may exist, CUPTI is not subscribed to, whatever was asked for. */
static void test_too_late(void **state)
{
    settings.timing = 1;
    assert_false(xfs_timing_start("too late for it"));
    xfs_timing_attach();
    assert_int_equal(fake->subscribed, 0);
    assert_string_equal(timing_meta, "host");
    assert_string_equal(why_meta, "too late for it");
    assert_non_null(strstr(said, "too late for it"));
    xfs_timing_finish();
    assert_int_equal(fake->flushes, 0);
}

/* Nor when another thread went on meanwhile. */
static void test_overtaken(void **state)
{
    xfs_timing_overtaken();
    assert_false(xfs_timing_start(NULL));
    xfs_timing_attach();
    assert_int_equal(fake->subscribed, 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "another thread"));
    xfs_timing_finish();
}

/* The longest that the collecting thread meant to rest. */
static atomic_long longest_rest_ms;

int __wrap_pthread_cond_clockwait(pthread_cond_t *wake, pthread_mutex_t *lock, clockid_t clock,
                                  const struct timespec *until);
int __real_pthread_cond_clockwait(pthread_cond_t *wake, pthread_mutex_t *lock, clockid_t clock,
                                  const struct timespec *until);
int __wrap_pthread_cond_clockwait(pthread_cond_t *wake, pthread_mutex_t *lock, clockid_t clock,
                                  const struct timespec *until)
{
    struct timespec now_is;
    clock_gettime(clock, &now_is);
    long ms = (until->tv_sec - now_is.tv_sec) * 1000 + (until->tv_nsec - now_is.tv_nsec) / 1000000;
    if (ms > atomic_load(&longest_rest_ms))
        atomic_store(&longest_rest_ms, ms);
    return __real_pthread_cond_clockwait(wake, lock, clock, until);
}

/* The calling thread makes no call of CUPTI but the subscription: the collecting thread does. */
static void test_own_thread(void **state)
{
    assert_true(xfs_timing_start(NULL));
    xfs_timing_attach();
    assert_true(fake->subscribed_by == gettid());
    assert_true(fake->enabled_by != 0 && fake->enabled_by != gettid());
    assert_int_equal(waits_told, 0);            /* its caller does */
    assert_true(atomic_load(&bus_watched) > 0); /* only that thread calls it */
    xfs_timing_managed();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    assert_true(fake->enabled_by != gettid());
    assert_true(atomic_load(&longest_rest_ms) < 50);
    xfs_timing_managed(); /* asks for nothing more */
    assert_int_equal(waits_told, 1);
    xfs_timing_finish();
}

/* Another profiler comes before the first transfer: it is left in peace. */
static void test_yield_early(void **state)
{
    assert_true(xfs_timing_start(NULL));
    xfs_timing_yield();
    xfs_timing_attach();
    assert_int_equal(fake->subscribed, 1);
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "another profiler"));
    xfs_timing_finish();
}

static void test_second_profiler(void **state)
{
    fake->subscribe_result = XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    begin();
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "another profiler"));
    assert_int_equal(fake->buffers_registered, 0);
    assert_string_equal(said, "");
    xfs_timing_finish();
    assert_int_equal(fake->flushes, 0);
}

/* A profiler that starts later gets CUPTI as if nobody had been there; what was recorded is kept.
 */
static void test_yield(void **state)
{
    struct xcp_memcpy r = a_copy(7);
    begin();
    put(&r, sizeof r);
    errno = EDOM;
    xfs_timing_yield();
    assert_int_equal(errno, EDOM);
    assert_int_equal(event_count, 1);
    assert_int_equal(fake->unsubscribed, 1);
    static const int kinds[] = {XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2, XCP_ACTIVITY_MEMSET,
                                XCP_ACTIVITY_KERNEL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(fake->kinds_disabled[kinds[i]], 1);
    assert_int_equal(records_on, 0);
    assert_int_equal(fake->zeroed_promised, 0);
    assert_true(fake->clock != xfs_now_ns);
    assert_string_equal(timing_meta, "cupti");
    assert_non_null(strstr(why_meta, "another profiler took CUPTI over"));
    int flushes = fake->flushes;
    xfs_timing_yield();
    xfs_timing_managed();
    xfs_timing_finish();
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(fake->flushes, flushes);
    assert_int_equal(fake->counters, 0);
}

/* Asked for by name, CUPTI is kept. */
static void test_no_yield(void **state)
{
    settings.timing = 1;
    begin();
    xfs_timing_yield();
    assert_int_equal(fake->unsubscribed, 0);
    assert_string_equal(why_meta, "");
    xfs_timing_finish();
}

/* Little is left below a limit of the program's own: what was recorded is kept. */
static void test_memory_ends(void **state)
{
    struct xcp_memcpy r = a_copy(7);
    struct rlimit tight = {1 << 20, 1 << 19}, much = {(rlim_t)1 << 46, RLIM_INFINITY}, before;
    settings.timing = 1; /* cupti, by name: it is no matter of taste */
    begin();
    put(&r, sizeof r);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &much), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(prlimit(1, RLIMIT_AS, NULL, &much),
                     0); /* of another process, and only asked */
    assert_int_equal(setrlimit(RLIMIT_CORE, &(struct rlimit){0, RLIM_INFINITY}), 0);
    assert_int_equal(fake->unsubscribed, 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), -1); /* refused by the kernel, and not by us */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(event_count, 1);
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(fake->kinds_disabled[XCP_ACTIVITY_MEMCPY], 1);
    assert_string_equal(timing_meta, "cupti");
    assert_non_null(strstr(why_meta, "the program limited its memory"));
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), -1);
    xfs_timing_finish();
    assert_int_equal(fake->unsubscribed, 1);
}

/* In a sandbox nobody may ask how large the process is: any limit may be tight. */
static void test_memory_ends_unseen(void **state)
{
    struct rlimit much = {(rlim_t)1 << 46, RLIM_INFINITY}, before;
    begin();
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    atomic_store(&xfs_sandbox_seen, true);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(fake->unsubscribed, before.rlim_cur != RLIM_INFINITY);
    assert_int_equal(setrlimit(RLIMIT_AS, &much), 0);
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    xfs_timing_finish();
}

static void test_memory_ends_early(void **state)
{
    struct rlimit tight = {1 << 20, 1 << 19};
    assert_true(xfs_timing_start(NULL));
    assert_int_equal(prlimit(getpid(), RLIMIT_DATA, &tight, NULL), -1);
    xfs_timing_attach();
    assert_int_equal(fake->unsubscribed, 1);
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "limits its memory"));
    xfs_timing_finish();
}

static void test_enable_fails(void **state)
{
    fake->enable_result = 35;
    settings.timing = 1; /* cupti: asked for, so its absence is said */
    begin();
    assert_string_equal(timing_meta, "host");
    assert_string_equal(why_meta, "cuptiActivityEnable failed: 35");
    assert_non_null(strstr(said, why_meta));
    assert_int_equal(fake->unsubscribed, 1);
    xfs_timing_finish();
}

/* ---- no room for CUPTI ------------------------------------------------------------------------
 */

/* So many below the limit are free. */
static void leave_descriptors(int count)
{
    struct rlimit limit;
    int end = 0;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int unused = 0; unused < count; end++)
        unused += fcntl(end, F_GETFD) < 0;
    limit.rlim_cur = (rlim_t)end;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_headroom(void **state)
{
    int used[8];
    leave_descriptors(XFS_HEADROOM_DESCRIPTORS + 7);
    for (int i = 0; i < 8; i++) {
        errno = EDOM;
        assert_true(xfs_has_headroom());
        assert_int_equal(errno, EDOM);
        used[i] = dup(1);
    }
    assert_false(xfs_has_headroom());
    close(used[3]);
    assert_true(xfs_has_headroom());
}

static void test_cramped_at_start(void **state)
{
    settings.timing = 1;
    leave_descriptors(XFS_HEADROOM_DESCRIPTORS - 1);
    begin();
    assert_int_equal(fake->subscribed, 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "few descriptors"));
    assert_non_null(strstr(said, why_meta));
    xfs_timing_finish();
}

static void test_cramped(void **state)
{
    assert_true(xfs_timing_start(NULL));
    leave_descriptors(XFS_HEADROOM_DESCRIPTORS - 1);
    xfs_timing_attach();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_MEMCPY], 0);
    assert_int_equal(fake->unsubscribed, 1);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "few descriptors"));
    xfs_timing_finish();
}

/* Managed memory comes to be used when there is no room any more. */
static void test_cramped_later(void **state)
{
    begin();
    leave_descriptors(XFS_HEADROOM_DESCRIPTORS - 1);
    xfs_timing_managed();
    assert_int_equal(fake->counters, 0);
    assert_string_equal(meta_of("managed"), "off");
    assert_non_null(strstr(meta_of("managed.why"), "few descriptors"));
    xfs_timing_finish();
    assert_string_equal(timing_meta, "cupti");
}

/* What CUPTI holds at the end stays there. */
static void test_cramped_at_end(void **state)
{
    struct xcp_memcpy r = a_copy(7);
    begin();
    put(&r, sizeof r);
    leave_descriptors(XFS_HEADROOM_DESCRIPTORS - 1);
    xfs_timing_finish();
    assert_int_equal(fake->forced_flushes, 0);
    assert_string_equal(timing_meta, "cupti");
    assert_non_null(strstr(why_meta, "not asked for"));
}

static void test_host(void **state)
{
    settings.timing = 2;
    begin();
    xfs_timing_finish();
    assert_string_equal(timing_meta, "host");
    assert_string_equal(why_meta, "");
    assert_int_equal(fake->subscribed, 0);
    assert_int_equal(fake->flushes, 0);
}

static void test_none_there(void **state)
{
    simulated_clock = dlsym(RTLD_DEFAULT, "malloc"); /* libc's folder holds no CUPTI */
    begin();
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "no libcupti"));
    assert_null(dlerror());
    xfs_timing_finish();
}

/* The machine's own CUPTI, whatever state it is in: used, or reported in one line. */
static void test_search(void **state)
{
    begin();
    if (strcmp(timing_meta, "host") == 0) {
        assert_true(why_meta[0] != '\0');
        assert_null(strchr(why_meta, '\n'));
    } else {
        assert_string_equal(timing_meta, "cupti");
        assert_string_equal(why_meta, "");
    }
    xfs_timing_finish();
}

/* A copy that the process has loaded is taken before any other. */
static void test_loaded(void **state)
{
    simulated_clock = NULL;
    begin();
    assert_int_equal(fake->subscribed, 1);
    xfs_timing_finish();
}

static void test_twice(void **state)
{
    errno = EDOM;
    begin();
    begin();
    assert_int_equal(fake->subscribed, 1);
    xfs_timing_finish();
    xfs_timing_finish();
    assert_int_equal(fake->forced_flushes, 1);
    assert_int_equal(errno, EDOM);
}

/* Without the driver's functions there are no events. */
static void test_events_missing(void **state)
{
    settings.timing = 3;
    begin();
    assert_int_equal(fake->subscribed, 0);
    assert_string_equal(timing_meta, "host");
    assert_non_null(strstr(why_meta, "events"));
    xfs_timing_finish();
}

/* The program's end does not wait for a CUPTI that hangs. */
static void test_hang(void **state)
{
    struct xcp_memcpy r = a_copy(1);
    fake->hang_in_flush = 1;
    begin();
    while (!xfs_collector_has_records()) /* its thread may be slow to switch them on */
        usleep(1000);
    put(&r, sizeof r);
    xfs_timing_finish();
    assert_int_equal(event_count, 0);
    assert_non_null(strstr(why_meta, "last records"));
}

static void test_fork(void **state)
{
    struct xcp_memcpy r = a_copy(1);
    begin();
    put(&r, sizeof r);
    pid_t child = fork();
    if (child == 0) {
        xfs_timing_start(NULL);
        xfs_timing_attach();
        xfs_timing_finish();
        _exit(fake->forced_flushes + fake->subscribed - 1 + (int)event_count);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    xfs_timing_finish();
    assert_int_equal(event_count, 1);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, load_fake)
    const struct CMUnitTest tests[] = {
        TEST(copy),
        TEST(directions),
        TEST(peer_and_memset),
        TEST(batch),
        TEST(batch_unknown),
        TEST(losses),
        TEST(many),
        TEST(part_filled),
        TEST(own_clock),
        TEST(correlation),
        TEST(second_profiler),
        TEST(nothing_moves),
        TEST(too_late),
        TEST(overtaken),
        TEST(own_thread),
        TEST(yield_early),
        TEST(yield),
        TEST(no_yield),
        TEST(memory_ends),
        TEST(memory_ends_early),
        TEST(memory_ends_unseen),
        TEST(enable_fails),
        TEST(headroom),
        TEST(cramped_at_start),
        TEST(cramped),
        TEST(cramped_later),
        TEST(cramped_at_end),
        TEST(host),
        TEST(none_there),
        TEST(events_missing),
        TEST(twice),
        TEST(hang),
        TEST(fork),
        TEST(loaded),
        cmocka_unit_test(test_search),
    };
    return run_one(tests, sizeof tests / sizeof tests[0], argc, argv);
}
