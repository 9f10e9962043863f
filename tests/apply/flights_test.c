/* Copies that are under way at the same time, and what ends that. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/apply/streams/flights.h"
#include "preload/apply/calls/writes.h"
#include "preload/base/sandbox.h"

_Atomic uint64_t xfs_writes_unplaced;
atomic_bool xfs_sandbox_seen;

static int anew(void **state)
{
    (void)state;
    atomic_store(&xfs_writes_unplaced, 0);
    xfs_flights_after_fork();
    return 0;
}

static struct xfs_flight begin(uint64_t dst, uint64_t src, uint64_t bytes)
{
    struct xfs_flight flight = {.dst = dst, .src = src, .bytes = bytes};
    assert_true(xfs_flight_begins(&flight));
    return flight;
}

/* May one be submitted while another one is under way? */
static bool may(uint64_t dst, uint64_t src, uint64_t bytes)
{
    struct xfs_flight other = begin(1000, 5000, 100), one = begin(dst, src, bytes);
    bool result = xfs_flight_may_submit(&one);
    xfs_flight_ends(&one);
    xfs_flight_ends(&other);
    return result;
}

static void what_the_same_memory_is(void **state)
{
    (void)state;
    assert_true(may(2000, 6000, 100));
    assert_true(may(1100, 5100, 100)); /* behind it, and before it */
    assert_true(may(900, 4900, 100));
    assert_true(may(2000, 5000, 100)); /* both read it */
    assert_false(may(1099, 6000, 100));
    assert_false(may(901, 6000, 100));
    assert_false(may(0, 6000, 4000)); /* around it */
    assert_false(may(1050, 6000, 1));
    assert_false(may(2000, 1099, 100)); /* reads what is written */
    assert_false(may(5099, 2000, 100)); /* writes what is read */
    assert_false(may(4901, 2000, 100));
    assert_true(may(UINT64_MAX - 99, 2000, 100));
}

static void one_after_the_other(void **state)
{
    struct xfs_flight one = begin(1000, 5000, 100);
    (void)state;
    assert_true(xfs_flight_may_submit(&one));
    xfs_flight_submitted(&one);
    struct xfs_flight other = begin(6000, 1000, 100);
    assert_false(xfs_flight_may_submit(&other));
    xfs_flight_ends(&one);
    assert_true(xfs_flight_may_submit(&other));
    xfs_flight_ends(&other);
}

static void many(void **state)
{
    struct xfs_flight flights[64], more = {.dst = 1, .src = 1000001, .bytes = 1};
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        flights[i] = begin(1000 * (i + 1), 1000 * (i + 2000), 10);
    assert_false(xfs_flights_are_over());
    assert_false(xfs_flight_begins(&more)); /* it would not be known of */
    assert_true(xfs_flights_are_over());
    assert_false(xfs_flight_may_submit(&flights[3]));
}

static void what_is_not_followed(void **state)
{
    struct xfs_flight flight = begin(1000, 5000, 100);
    (void)state;
    atomic_fetch_add(&xfs_writes_unplaced, 1);
    assert_true(xfs_flights_are_over());
    assert_false(xfs_flight_may_submit(&flight));
    assert_false(xfs_flight_begins(&flight));
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct xfs_flight ours;
static atomic_int step;
static atomic_bool go;

static void *submit_late(void *unused)
{
    while (!atomic_load(&go))
        usleep(100);
    usleep(30000);
    atomic_store(&step, 1);
    xfs_flight_submitted(&ours);
    usleep(30000);
    atomic_store(&step, 2);
    xfs_flight_ends(&ours);
    return unused;
}

static pthread_t begin_ours(void)
{
    pthread_t thread;
    atomic_store(&step, 0);
    atomic_store(&go, false);
    ours = begin(1000, 5000, 100);
    assert_true(xfs_flight_may_submit(&ours));
    assert_int_equal(pthread_create(&thread, NULL, submit_late, NULL), 0);
    return thread;
}

static void who_begins_meanwhile_waits_until_it_is_submitted(void **state)
{
    pthread_t thread = begin_ours();
    (void)state;
    struct xfs_flight apart = begin(2000, 6000, 100);
    atomic_store(&go, true);
    struct xfs_flight same = begin(6200, 1000, 100);
    assert_true(atomic_load(&step) >= 1);
    pthread_join(thread, NULL);
    xfs_flight_ends(&apart);
    xfs_flight_ends(&same);
}

static void who_ends_it_waits_until_it_has_arrived(void **state)
{
    pthread_t thread = begin_ours();
    (void)state;
    atomic_store(&go, true);
    xfs_flights_end();
    assert_int_equal(atomic_load(&step), 2);
    assert_true(xfs_flights_are_over());
    pthread_join(thread, NULL);
    xfs_flights_end();
}

/* The bound is a second. A machine that is busy makes it longer, never shorter. */
static void one_that_never_arrives(void **state)
{
    struct timespec begun, ended;
    ours = begin(1000, 5000, 100);
    (void)state;
    assert_true(xfs_flight_may_submit(&ours));
    xfs_flight_submitted(&ours);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    xfs_flights_end();
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double took =
        (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
    assert_true(took >= 1);
    for (int i = 0; i < 1000; i++) /* would take as many seconds */
        xfs_flights_end();
    assert_true(xfs_flights_are_over());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, anew)
    const struct CMUnitTest tests[] = {
        TEST(what_the_same_memory_is),
        TEST(one_after_the_other),
        TEST(many),
        TEST(what_is_not_followed),
        TEST(who_begins_meanwhile_waits_until_it_is_submitted),
        TEST(who_ends_it_waits_until_it_has_arrived),
        TEST(one_that_never_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
