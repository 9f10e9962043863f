/*
 * The real clock: what is simulated takes that time.
 */
#include "tests/simgpu/cu.h"

#include <stdlib.h>
#include <time.h>

#include "tools/simgpu/simgpu.h"

enum { BIG = 64 << 20 };

static uint64_t real_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void calls_last(void **state)
{
    char *host = pinned_memory(BIG);
    xcu_deviceptr p = device_memory(BIG);
    uint64_t before = real_ns();

    OK(cuMemcpyHtoD_v2(p, host, 4096)); /* what was simulated before is spent by now */
    xferscope_simgpu_spend_ns(30000000);
    OK(cuMemcpyHtoD_v2(p, host, 4096));
    assert_true(real_ns() - before >= 30000000);
    before = real_ns();
    OK(cuMemcpyHtoD_v2(p, host, BIG));
    assert_true(real_ns() - before >= 1200000); /* 1.2 ms at 55 GB/s */
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(host));
}

/* It is the system's, of all processes. */
static void the_clock_is_the_systems(void **state)
{
    xcu_deviceptr p = device_memory(4096);
    assert_true(xferscope_simgpu_is_real());
    for (int i = 0; i < 100; i++) {
        OK(cuMemsetD8_v2(p, 1, 4096));
        uint64_t before = real_ns(), now = xferscope_simgpu_now_ns();
        assert_true(now >= before && now <= real_ns());
    }
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
        cmocka_unit_test(calls_last),
        cmocka_unit_test(the_clock_is_the_systems),
    };

    setenv("XFERSCOPE_SIMGPU_CLOCK", "real", 1);
    return cmocka_run_group_tests(tests, start, NULL);
}
