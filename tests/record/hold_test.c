/* Calls held back: none is under way meanwhile, none is lost or refused, and they go on when one of
 * them stays in the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/record/hold.h"
#include "preload/record/hot.h"
#include "preload/record/record.h"
#include "preload/record/recorder.h"

enum { THREADS = 6, PASSES = 200, CALLS_AFTER = 1000 };

static atomic_uint under_way, beside, refused;
static atomic_ulong calls;
static atomic_bool passed;

/* As a hook around a driver's function. */
static void call(void (*driver)(void))
{
    if (!xfs_call_ready_now()) {
        atomic_fetch_add(&refused, 1);
        return;
    }
    struct xft_event event = {.kind = XFT_EVENT_SYNC, .start_ns = xfs_now_ns()};
    atomic_fetch_add(&under_way, 1);
    if (driver)
        driver();
    atomic_fetch_sub(&under_way, 1);
    event.end_ns = xfs_now_ns();
    xfs_event_write(&event);
    atomic_fetch_add(&calls, 1);
    xfs_call_over(xfs_self);
}

static void give_up_processor(void)
{
    sched_yield();
}

static void *call_again_and_again(void *unused)
{
    for (int after = 0; after < CALLS_AFTER; after += atomic_load(&passed))
        call(after % 7 == 0 ? give_up_processor : NULL);
    return unused;
}

/* What may not happen beside a call. */
static void work(void *count)
{
    for (int i = 0; i < 100; i++)
        atomic_fetch_add(&beside, atomic_load(&under_way) != 0);
    ++*(unsigned *)count;
}

static void test_no_call_beside(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    unsigned works = 0, passes = 0;
    assert_true(xfs_record_ready());
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_again_and_again, NULL), 0);
    while (passes < PASSES) {
        unsigned long before = atomic_load(&calls);
        passes += xfs_with_calls_held(work, &works);
        while (atomic_load(&calls) < before + THREADS)
            sched_yield();
    }
    atomic_store(&passed, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(works, PASSES);
    assert_int_equal(beside, 0);
    assert_int_equal(refused, 0);
    assert_true(calls >= THREADS * CALLS_AFTER);
    assert_int_equal(atomic_load(&xfs_recorder_current()->lost[XFT_LOSS_EVENTS]), 0);
}

static atomic_bool in_driver, may_return;

static void stay(void)
{
    atomic_store(&in_driver, true);
    while (!atomic_load(&may_return))
        sched_yield();
}

static void *call_that_stays(void *unused)
{
    call(stay);
    return unused;
}

static void test_call_that_stays(void **state)
{
    (void)state;
    pthread_t thread;
    unsigned works = 0;
    unsigned long before = calls;
    assert_int_equal(pthread_create(&thread, NULL, call_that_stays, NULL), 0);
    while (!atomic_load(&in_driver))
        sched_yield();
    assert_false(xfs_with_calls_held(work, &works));
    assert_int_equal(works, 0);
    call(NULL); /* other threads go on */
    assert_int_equal(calls, before + 1);
    atomic_store(&may_return, true);
    pthread_join(thread, NULL);
    assert_true(xfs_with_calls_held(work, &works));
    assert_int_equal(works, 1);
    assert_int_equal(refused, 0);
}

static void work_that_calls(void *unused)
{
    (void)unused;
    call(NULL);
}

/* What CUPTI does while it switches may end in a hook. */
static void test_call_of_the_work(void **state)
{
    (void)state;
    unsigned long before = calls;
    assert_true(xfs_with_calls_held(work_that_calls, NULL));
    assert_int_equal(refused, 1);
    assert_int_equal(calls, before);
    call(NULL);
    assert_int_equal(calls, before + 1);
    assert_int_equal(xfs_recorder_current()->calls_after_end, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_call_beside),
        cmocka_unit_test(test_call_that_stays),
        cmocka_unit_test(test_call_of_the_work),
    };
    char folder[] = "/tmp/xferscope-hold-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/run", folder);
    setenv("XFERSCOPE_OUTPUT", path, 1);
    setenv("XFERSCOPE_SYMBOLS", "0", 1);
    int status = 1;
    pid_t child = fork();
    if (child == 0) /* which completes its trace as it ends */
        return cmocka_run_group_tests(tests, NULL, NULL);
    waitpid(child, &status, 0);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 && status == 0 ? 0 : 1;
}
