/*
 * Threads with clocks of their own on the virtual clock: the order of their calls, how they wait
 * for each other, and what they work meanwhile.
 */
#include "tests/simgpu/cu.h"

#include <pthread.h>
#include <unistd.h>

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

/* One makes items, 1000 ns each, which the other takes 300 ns for; then that one is the slower. */
enum { ITEMS = 4, MADE = 1000, USED = 300, QUICK = 100 };
static unsigned items, room;
static uint64_t had_item[2 * ITEMS], worked_by_all[2 * ITEMS];

static void *makes_items(void *unused)
{
    assert_true(xferscope_simgpu_thread_begin(0, 2));
    for (int i = 0; i < 2 * ITEMS; i++) {
        xferscope_simgpu_take(&room);
        xferscope_simgpu_spend_ns(i < ITEMS ? MADE : QUICK);
        xferscope_simgpu_post(&items);
    }
    assert_int_equal(xferscope_simgpu_thread_ns(), ITEMS * (MADE + QUICK));
    xferscope_simgpu_thread_end();
    return unused;
}

static void *uses_items(void *unused)
{
    assert_true(xferscope_simgpu_thread_begin(1, 2));
    uint64_t begun = now();
    for (int i = 0; i < 2 * ITEMS; i++) {
        xferscope_simgpu_take(&items);
        had_item[i] = now() - begun;
        xferscope_simgpu_spend_ns(USED);
        worked_by_all[i] = xferscope_simgpu_process_ns();
        xferscope_simgpu_post(&room);
    }
    assert_int_equal(xferscope_simgpu_thread_ns(), 2 * ITEMS * USED);
    xferscope_simgpu_thread_end();
    return unused;
}

/* Two items fit: the slower one is waited for, and a thread that waits does not work. */
static void semaphores_of_threads(void **state)
{
    pthread_t maker, user;

    xferscope_simgpu_take(&items); /* without a clock of its own: nothing happens */
    xferscope_simgpu_post(&items);
    assert_int_equal(xferscope_simgpu_process_ns(), 0);
    items = 0;
    room = 2;
    assert_int_equal(pthread_create(&maker, NULL, makes_items, NULL), 0);
    assert_int_equal(pthread_create(&user, NULL, uses_items, NULL), 0);
    pthread_join(maker, NULL);
    pthread_join(user, NULL);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(had_item[i], MADE * (i + 1));
        assert_int_equal(worked_by_all[i],
                         MADE * (i + 1) + USED * (i + 2) - (i == ITEMS - 1) * (USED - QUICK));
    }
    for (int i = ITEMS + 1; i < 2 * ITEMS; i++)
        assert_int_equal(had_item[i], had_item[i - 1] + USED);
    assert_int_equal(worked_by_all[2 * ITEMS - 1], ITEMS * (MADE + QUICK) + 2 * ITEMS * USED);
    assert_int_equal(items, 0);
    assert_int_equal(room, 2);
}

static void *waits_with_a_lock(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;
    static const char lock;
    static unsigned made;

    assert_true(xferscope_simgpu_thread_begin(thread, THREADS));
    uint64_t begun = now();
    xferscope_simgpu_spend_ns(thread == 0 ? 1000 : 100 * thread);
    if (thread == 0)
        xferscope_simgpu_post(&made);
    else
        xferscope_simgpu_lock(&lock);
    if (thread == 1)
        xferscope_simgpu_take(&made);
    had[thread] = now() - begun;
    if (thread != 0)
        xferscope_simgpu_unlock(&lock);
    xferscope_simgpu_thread_end();
    return NULL;
}

/* Who waits for something else keeps it. */
static void locks_are_kept(void **state)
{
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, waits_with_a_lock, (void *)(uintptr_t)i),
                         0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(had[i], 1000);
}

static unsigned asked;
static int tids[THREADS];

/* At 500 ns, and when the others have come to wait for it. */
static void asks_of_each(void)
{
    struct xferscope_simgpu_thread each[THREADS + 1] = {{0, 0}};
    const uint64_t expected[][THREADS] = {{500, 0, 300}, {1000, 400, 300}};

    for (unsigned round = 0; round < 2; round++) {
        xferscope_simgpu_spend_ns(500);
        assert_int_equal(xferscope_simgpu_threads(each, THREADS + 1), THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(each[i].tid, tids[i]);
            assert_int_equal(each[i].worked_ns, expected[round][i]);
        }
    }
    each[1].tid = -1;
    assert_int_equal(xferscope_simgpu_threads(each, 1), 1);
    assert_int_equal(each[1].tid, -1);
}

static void *works_and_waits(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;

    tids[thread] = (int)gettid();
    assert_true(xferscope_simgpu_thread_begin(thread, THREADS));
    if (thread == 0) {
        asks_of_each();
        xferscope_simgpu_post(&asked);
        xferscope_simgpu_post(&asked);
    } else {
        xferscope_simgpu_sleep_ns(thread == 1 ? 600 : 0);
        xferscope_simgpu_spend_ns(thread == 1 ? 400 : 300);
        xferscope_simgpu_take(&asked);
    }
    xferscope_simgpu_thread_end();
    return NULL;
}

/* By the kernel's numbers: what each has worked by the time of the one that asks, without what it
 * slept or waited. */
static void work_of_each(void **state)
{
    pthread_t threads[THREADS];
    struct xferscope_simgpu_thread each[THREADS];

    assert_int_equal(xferscope_simgpu_threads(each, THREADS), 0); /* no clock of its own */
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, works_and_waits, (void *)(uintptr_t)i),
                         0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int start(void **state)
{
    OK(cuInit(0));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_their_own),  cmocka_unit_test(locks_of_threads),
        cmocka_unit_test(semaphores_of_threads), cmocka_unit_test(locks_are_kept),
        cmocka_unit_test(work_of_each),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
