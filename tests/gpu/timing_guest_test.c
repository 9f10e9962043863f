/*
 * Device timing as a guest of the process, against a stand-in for CUPTI: when it may begin, other
 * profilers, little room, no CUPTI, fork and the end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "preload/base/headroom.h"
#include "preload/timing/collector.h"
#include "tests/gpu/timing_world.h"

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
    assert_int_equal(waits_reported, 0);        /* its caller does */
    assert_true(atomic_load(&bus_watched) > 0); /* only that thread calls it */
    xfs_timing_managed();
    assert_int_equal(fake->kinds_enabled[XCP_ACTIVITY_COUNTER], 1);
    assert_true(fake->enabled_by != gettid());
    assert_true(atomic_load(&longest_rest_ms) < 50);
    xfs_timing_managed(); /* asks for nothing more */
    assert_int_equal(waits_reported, 1);
    xfs_timing_finish();
}

/* Another profiler comes before the first transfer: it is left in peace. */
static void test_yield_early(void **state)
{
    assert_true(xfs_timing_start(NULL));
    xfs_timing_yield(false);
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
    xfs_timing_yield(false);
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
    xfs_timing_yield(false);
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
    xfs_timing_yield(false);
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

/* ---- no room for CUPTI ----------------------------------------------------------------------- */

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
