/* What threads without calls work: which are looked at, when, and what is said of them. The clocks
 * are invented, the threads are this process's own. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/base/apart.h"
#include "preload/base/sandbox.h"
#include "preload/record/hot.h"
#include "preload/record/others.h"
#include "preload/record/periods.h"

enum { BEGIN = 1000000000, THREADS = 4 };
static const uint64_t US = 1000, MS = 1000000;

/* ---- what stands in for the recorder and the kernel ------------------------------------------ */

atomic_bool xfs_sandbox_seen, xfs_periods_limited;
XFS_TLS struct xfs_lane *xfs_self;

static struct xfs_lane lane;
static struct maker {
    int tid;
    uint64_t ns; /* its processor time; 0: it is gone */
} makers[THREADS];
static uint64_t now, reading_ns, period_from;
static bool by_kernel, rooms;
static unsigned written, asked;
static struct xft_event last;

uint64_t xfs_monotonic_ns(void)
{
    return now;
}

bool xfs_thread_is_timed_by_kernel(void)
{
    return by_kernel;
}

uint64_t xfs_kernel_ns_of(int tid)
{
    asked++;
    now += reading_ns;
    for (unsigned i = 0; i < THREADS; i++)
        if (makers[i].tid == tid)
            return makers[i].ns;
    return 0; /* of threads of the test's own library */
}

bool xfs_periods_last_has(uint64_t ns)
{
    return ns >= period_from;
}

void xfs_cost_make_room(uint64_t from_ns)
{
    rooms = true;
}

void xfs_event_write(const struct xft_event *event)
{
    last = *event;
    written++;
}

/* ---- threads --------------------------------------------------------------------------------- */

static atomic_int begun, over;
static pthread_t threads[THREADS];

static void *make(void *maker)
{
    ((struct maker *)maker)->tid = (int)gettid();
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over))
        usleep(1000);
    return NULL;
}

static int begin_threads(void **state)
{
    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make, &makers[i]);
    while (atomic_load(&begun) < THREADS)
        usleep(1000);
    return 0;
}

static int end_threads(void **state)
{
    (void)state;
    atomic_store(&over, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void look(void)
{
    xfs_others_look(now, true);
}

/* The threads are known, and were looked at once. */
static void start(void)
{
    lane = (struct xfs_lane){.tid = (int)gettid()};
    xfs_self = &lane;
    xfs_others_after_fork();
    xfs_others_use(NULL);
    xfs_apart_add(lane.tid);
    atomic_store(&xfs_sandbox_seen, false);
    atomic_store(&xfs_periods_limited, false);
    now = BEGIN, reading_ns = period_from = 0, by_kernel = true;
    for (unsigned i = 0; i < THREADS; i++)
        makers[i].ns = (i + 1) * MS;
    look();
    xfs_others_list(now);
    now += XFS_OTHERS_NS;
    look();
    written = asked = 0;
    rooms = false;
}

static void pass(uint64_t ns, uint64_t first_ns, uint64_t second_ns)
{
    now += ns;
    makers[0].ns += first_ns;
    makers[1].ns += second_ns;
    look();
}

static void check(uint64_t ns, uint64_t busiest_ns, uint64_t all_ns, unsigned worked)
{
    assert_int_equal(last.kind, XFT_EVENT_PROCESSOR);
    assert_int_equal(last.src, XFT_PROCESSOR_OF_OTHERS);
    assert_int_equal(last.end_ns - last.start_ns, ns);
    assert_int_equal(last.aux, busiest_ns);
    assert_int_equal(last.width, all_ns + 1);
    assert_int_equal(last.count, worked);
    assert_int_equal(last.device, XFT_PLACE_UNKNOWN);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The busiest of a time, and all; nothing before it is due, or where nobody works. */
static void test_busiest(void **state)
{
    (void)state;
    start();
    pass(XFS_OTHERS_NS - 1, 2 * MS, 3 * MS);
    assert_int_equal(asked, 0);
    pass(1, 0, 0);
    assert_int_equal(asked, THREADS);
    check(XFS_OTHERS_NS, 3 * MS, 5 * MS, 2);
    assert_true(rooms);
    pass(8 * MS, 8 * MS, 8 * MS / XFS_OTHERS_IDLE);
    check(8 * MS, 8 * MS, 8 * MS + 8 * MS / XFS_OTHERS_IDLE, 1);
    assert_int_equal(last.start_ns, now - 8 * MS);
    assert_int_equal(written, 2);
    pass(8 * MS, 0, 8 * MS / XFS_OTHERS_IDLE);
    assert_int_equal(written, 2);
    pass(8 * MS, 0, 9 * MS); /* it was read late */
    check(8 * MS, 8 * MS, 8 * MS, 1);
}

/* Samples that take long are rarer; one that was interrupted alone is not. */
static void test_seldom(void **state)
{
    (void)state;
    start();
    reading_ns = 1;
    pass(XFS_OTHERS_NS, MS, 0);
    reading_ns = 5 * US;
    pass(XFS_OTHERS_NS, MS, 0);
    assert_int_equal(asked, 2 * THREADS);
    pass(XFS_OTHERS_NS, MS, 0); /* the one before may have been interrupted */
    assert_int_equal(asked, 3 * THREADS);
    const uint64_t later = THREADS * 5 * US * XFS_OTHERS_PART;
    pass(later - 3 * THREADS * 5 * US, MS, 0);
    assert_int_equal(asked, 3 * THREADS);
    pass(3 * THREADS * 5 * US, MS, 0);
    assert_int_equal(asked, 4 * THREADS);
}

/* Threads that make calls are left out from their first one on, and whoever is gone. */
static void test_left_out(void **state)
{
    (void)state;
    start();
    xfs_apart_add(makers[1].tid);
    pass(XFS_OTHERS_NS, MS, 4 * MS);
    check(XFS_OTHERS_NS, MS, MS, 1);
    makers[0].ns = 0;
    now += XFS_OTHERS_NS;
    look();
    assert_int_equal(written, 1);
    /* A number that is used again is another thread's: all its time is of late. */
    makers[0].ns = 100 * MS;
    now += XFS_OTHERS_LIST_NS;
    xfs_others_list(now);
    look();
    check(XFS_OTHERS_NS + XFS_OTHERS_LIST_NS - XFS_OTHERS_NS, XFS_OTHERS_LIST_NS,
          XFS_OTHERS_LIST_NS, 1);
    makers[0].ns = 2 * MS;
    now += XFS_OTHERS_NS;
    look();
    check(XFS_OTHERS_NS, 2 * MS, 2 * MS, 1);
    xfs_apart_remove(makers[1].tid);
    now += XFS_OTHERS_LIST_NS;
    xfs_others_list(now);
    makers[1].ns = MS;
    look();
    check(XFS_OTHERS_LIST_NS, MS, MS, 1);
}

/* Where a thread is gone, those that are there now are listed soon, but not at once again. */
static void test_gone(void **state)
{
    (void)state;
    start();
    makers[2].ns = 0;
    pass(XFS_OTHERS_NS, MS, 0);
    makers[2].ns = 3 * MS; /* another one in its place */
    xfs_others_list(now);
    pass(XFS_OTHERS_NS, MS, 0);
    check(XFS_OTHERS_NS, 3 * MS, 4 * MS, 2);
    makers[2].ns = 0;
    pass(XFS_OTHERS_NS, MS, 0);
    xfs_others_list(now);
    pass(XFS_OTHERS_NS, MS, 0);
    makers[2].ns = 3 * MS;
    xfs_others_list(now - 1);
    pass(XFS_OTHERS_NS, MS, 0);
    check(XFS_OTHERS_NS, MS, MS, 1);
    xfs_others_list(now);
    pass(XFS_OTHERS_NS, MS, 0);
    check(XFS_OTHERS_NS, 3 * MS, 4 * MS, 2);
}

/* The driver's own threads, by their names. */
static atomic_int driver_over;
static void *driver(void *maker)
{
    prctl(PR_SET_NAME, "cuda00001400006");
    ((struct maker *)maker)->tid = (int)gettid();
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&driver_over))
        usleep(1000);
    return NULL;
}

static void test_drivers(void **state)
{
    pthread_t thread;
    struct maker before = makers[2];
    (void)state;
    start();
    xfs_others_after_fork();
    int there = atomic_load(&begun);
    pthread_create(&thread, NULL, driver, &makers[2]);
    while (atomic_load(&begun) == there)
        usleep(1000);
    now = BEGIN;
    look();
    xfs_others_list(now);
    now += XFS_OTHERS_NS;
    look();
    makers[2].ns += 4 * MS;
    pass(XFS_OTHERS_NS, MS, 0);
    check(XFS_OTHERS_NS, MS, MS, 1);
    makers[2] = before;
    atomic_store(&driver_over, 1);
    pthread_join(thread, NULL);
}

/* A clock that goes back, and a fork: it begins anew. */
static void test_anew(void **state)
{
    (void)state;
    start();
    now -= MS;
    makers[0].ns += MS;
    look();
    assert_int_equal(asked, THREADS);
    assert_int_equal(written, 0);
    pass(XFS_OTHERS_NS, MS, 0);
    check(XFS_OTHERS_NS, MS, MS, 1);
    xfs_others_after_fork();
    written = asked = 0;
    pass(XFS_OTHERS_NS, MS, 0);
    pass(XFS_OTHERS_NS, MS, 0);
    assert_int_equal(asked, 0);
    assert_false(xfs_apart_has(lane.tid));
}

/* Where the kernel may not be called, nothing is read or listed. */
static void test_sandbox(void **state)
{
    (void)state;
    start();
    atomic_store(&xfs_sandbox_seen, true);
    pass(XFS_OTHERS_NS, MS, 0);
    assert_int_equal(asked + written, 0);
    start();
    atomic_store(&xfs_periods_limited, true);
    period_from = now + 1;
    pass(XFS_OTHERS_NS, MS, 0);
    assert_int_equal(written, 0);
    period_from = now;
    pass(XFS_OTHERS_NS, MS, 0);
    assert_int_equal(written, 1);
}

/* ---- another clock --------------------------------------------------------------------------- */

static bool another_samples; /* while it is waited for the thread's turn */
static unsigned simulated_count;

static unsigned simulated(struct xfs_other *list, unsigned most)
{
    assert_true(most >= THREADS);
    if (another_samples) {
        another_samples = false;
        now -= MS;
        look();
        now += MS;
        makers[0].ns += MS;
    }
    for (unsigned i = 0; i < simulated_count; i++)
        list[i] = (struct xfs_other){makers[i].tid, makers[i].ns};
    return simulated_count;
}

static void test_simulated(void **state)
{
    (void)state;
    start();
    xfs_others_after_fork();
    by_kernel = false;
    pass(MS, 0, 0);
    xfs_others_use(simulated);
    simulated_count = 0;
    pass(MS, 0, 0);
    simulated_count = THREADS;
    for (unsigned i = 0; i < THREADS; i++)
        makers[i].ns = 0;
    pass(MS, 0, 0);
    assert_int_equal(written, 0);
    pass(XFS_OTHERS_NS, 3 * MS, MS);
    check(XFS_OTHERS_NS, 3 * MS, 4 * MS, 2);
    another_samples = true;
    pass(XFS_OTHERS_NS + MS, 2 * MS, 0);
    check(XFS_OTHERS_NS, 2 * MS, 2 * MS, 1);
    assert_int_equal(written, 2);
    assert_int_equal(asked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busiest),  cmocka_unit_test(test_seldom),
        cmocka_unit_test(test_left_out), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_drivers),  cmocka_unit_test(test_anew),
        cmocka_unit_test(test_sandbox),  cmocka_unit_test(test_simulated),
    };
    return cmocka_run_group_tests(tests, begin_threads, end_threads);
}
