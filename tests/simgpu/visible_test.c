/*
 * A program that sees some GPUs only, in an order of its own: its ordinals, the profile's paths.
 */
#include "tests/simgpu/cu.h"

#include <math.h>
#include <stdlib.h>

#include "tools/simgpu/simgpu.h"
#include "xferscope/profile.h"

enum { BIG = 1 << 20 };

static struct xfp_profile *profile;
static xcu_context contexts[3];

static int start(void **state)
{
    char error[256];

    profile = xfp_read_file(SIM_PROFILE, error, sizeof(error));
    assert_non_null(profile);
    OK(cuInit(0));
    for (int i = 0; i < 3; i++)
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    return 0;
}

static int end(void **state)
{
    xfp_free(profile);
    return 0;
}

static uint64_t path_ns(int gpu)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, 0}, there = {XFT_MEM_DEVICE, gpu, -1};
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, host, there, false);

    assert_non_null(path);
    return (uint64_t)llround(xfp_blocking_time(path, BIG).ns);
}

static uint64_t copy_ns(int ordinal)
{
    uint64_t start;
    xcu_deviceptr device;
    void *pinned;

    OK(cuCtxSetCurrent(contexts[ordinal]));
    device = device_memory(BIG);
    pinned = pinned_memory(BIG);
    start = xferscope_simgpu_now_ns();
    OK(cuMemcpyHtoD_v2(device, pinned, BIG));
    return xferscope_simgpu_now_ns() - start;
}

static void paths(void **state)
{
    assert_int_not_equal(path_ns(3), path_ns(0)); /* the far socket, the near one */
    assert_int_equal(copy_ns(0), path_ns(3));
    assert_int_equal(copy_ns(1), path_ns(0));
    assert_int_equal(copy_ns(2), path_ns(2));
}

static void peers(void **state)
{
    static const int expected[3][3] = {{0, 0, 1}, {0, 0, 0}, {1, 0, 0}};
    int can, count;

    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            OK(cuDeviceCanAccessPeer(&can, i, j));
            assert_int_equal(can, expected[i][j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths), cmocka_unit_test(peers)};

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-2socket-4gpu", 1);
    setenv("CUDA_VISIBLE_DEVICES", "3,0,2", 1);
    return cmocka_run_group_tests(tests, start, end);
}
