/*
 * The host clock: real time plus what is simulated, never back.
 */
#include "tests/simgpu/cu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "tools/simgpu/simgpu.h"

enum { BIG = 64 << 20, ROUNDS = 2000 };

static uint64_t real_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Simulated time is put in, whatever the real copy takes. */
static void waits_are_put_in(void **state)
{
    char *host = pinned_memory(BIG);
    xcu_deviceptr p = device_memory(BIG);
    uint64_t before = xferscope_simgpu_now_ns();

    OK(cuMemcpyHtoD_v2(p, host, BIG));
    assert_true(xferscope_simgpu_now_ns() - before >= 1200000); /* 1.2 ms at 55 GB/s */
    before = xferscope_simgpu_now_ns();
    xferscope_simgpu_spend_ns(3600000000000);
    assert_true(xferscope_simgpu_now_ns() - before >= 3600000000000);
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(host));
}

/* The program's own time passes as it really does. */
static void the_program_takes_its_time(void **state)
{
    uint64_t simulated = xferscope_simgpu_now_ns(), real = real_ns();

    while (real_ns() - real < 2000000)
        ;
    assert_true(xferscope_simgpu_now_ns() - simulated >= 2000000);
}

static atomic_bool stop;
static atomic_long readings; /* of the other thread, while this one copies */
static atomic_bool went_back;

enum { READINGS = 1000 };

static void *watch(void *unused)
{
    uint64_t last = 0, now;

    for (; !atomic_load(&stop); atomic_fetch_add(&readings, 1)) {
        now = xferscope_simgpu_now_ns();
        if (now < last)
            atomic_store(&went_back, true);
        last = now;
    }
    return NULL;
}

/* As long as it takes until the other thread has looked often enough. */
static void never_back(void **state)
{
    xcu_deviceptr p = device_memory(BIG);
    pthread_t thread;
    uint64_t last = 0, now;

    assert_int_equal(pthread_create(&thread, NULL, watch, NULL), 0);
    for (int i = 0; i < ROUNDS || atomic_load(&readings) < READINGS; i++) {
        OK(cuMemsetD8_v2(p, 1, 4096));
        now = xferscope_simgpu_now_ns();
        assert_true(now >= last);
        last = now;
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&readings) >= READINGS);
    assert_false(atomic_load(&went_back));
    OK(cuMemFree_v2(p));
}

static int start(void **state)
{
    xcu_context context;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    return cuCtxSetCurrent(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_put_in),
        cmocka_unit_test(the_program_takes_its_time),
        cmocka_unit_test(never_back),
    };

    setenv("XFERSCOPE_SIMGPU_CLOCK", "host", 1);
    return cmocka_run_group_tests(tests, start, NULL);
}
