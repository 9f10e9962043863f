/*
 * Threads with clocks of their own on the virtual clock: the order of their calls, and their locks.
 */
#include "tests/simgpu/cu.h"

#include <pthread.h>

#include "tools/simgpu/simgpu.h"

enum { CALL = 200 };

static uint64_t now(void)
{
    return xferscope_simgpu_now_ns();
}

enum { THREADS = 3, CALLS = 5 };

static struct taken {
    unsigned thread;
    uint64_t at;
} taken[THREADS * CALLS];
static unsigned taken_count;

static void *own_clock(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;
    int count;

    assert_true(xferscope_simgpu_thread_begin(thread, THREADS));
    assert_int_equal(xferscope_simgpu_thread_ns(), 0);
    for (int i = 0; i < CALLS; i++) {
        xferscope_simgpu_spend_ns(1000 * (thread + 1));
        uint64_t at = now();
        OK(cuDeviceGetCount(&count));
        taken[taken_count++] =
            (struct taken){thread, at}; /* no other call returns before the next */
    }
    assert_int_equal(xferscope_simgpu_thread_ns(), CALLS * (1000 * (thread + 1) + CALL));
    xferscope_simgpu_thread_end();
    assert_int_equal(xferscope_simgpu_thread_ns(), 0);
    return NULL;
}

/* All begin together; calls are made in the order of their clocks, of equal ones in that of their
 * numbers; time passes for all at once. */
static void threads_of_their_own(void **state)
{
    pthread_t threads[THREADS];
    uint64_t t = now();

    taken_count = 0;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, own_clock, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(now() - t, CALLS * (1000 * THREADS + CALL));
    assert_int_equal(taken_count, THREADS * CALLS);
    for (unsigned i = 1; i < taken_count; i++)
        assert_true(taken[i].at > taken[i - 1].at ||
                    (taken[i].at == taken[i - 1].at && taken[i].thread > taken[i - 1].thread));
    assert_false(xferscope_simgpu_thread_begin(2, 2)); /* no such number */
}

static uint64_t had[THREADS], worked[THREADS];

static void *holds_a_lock(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;
    static const char lock;

    assert_true(xferscope_simgpu_thread_begin(thread, THREADS));
    uint64_t begun = now();
    xferscope_simgpu_spend_ns(100 * (THREADS - thread)); /* the last one comes first */
    xferscope_simgpu_lock(&lock);
    had[thread] = now() - begun;
    worked[thread] = xferscope_simgpu_thread_ns();
    xferscope_simgpu_spend_ns(1000);
    xferscope_simgpu_unlock(&lock);
    xferscope_simgpu_lock(&had); /* another one, which nobody else wants */
    xferscope_simgpu_unlock(&had);
    assert_int_equal(xferscope_simgpu_thread_ns(), worked[thread] + 1000);
    xferscope_simgpu_thread_end();
    return NULL;
}

/* Who comes first has it first, the others one after the other, by their clocks. */
static void locks_of_threads(void **state)
{
    pthread_t threads[THREADS];

    xferscope_simgpu_lock(had); /* without a clock of its own: nothing happens */
    xferscope_simgpu_lock(had);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, holds_a_lock, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(had[i], 100 + 1000 * (THREADS - 1 - i));
        assert_int_equal(worked[i], 100 * (THREADS - i)); /* who waits for a lock does not work */
    }
}

static int start(void **state)
{
    OK(cuInit(0));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_their_own),
        cmocka_unit_test(locks_of_threads),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
