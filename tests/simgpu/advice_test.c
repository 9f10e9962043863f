/*
 * What cuMemAdvise does to managed memory, by where kernels and the host find it and in what time,
 * to the nanosecond of the virtual clock.
 */
#include "tests/simgpu/cu.h"

#include <math.h>
#include <stdlib.h>

#include "tools/simgpu/simgpu.h"
#include "xferscope/profile.h"

enum { CALL = 200, SUBMIT = 2000, BIG = 4 << 20, PART = 1 << 20 };
enum { READ_MOSTLY = 1, NOT_READ_MOSTLY, PREFERRED, NOT_PREFERRED, ACCESSED_BY, NOT_ACCESSED_BY };
enum { HOST = -1, GPU = 0 };

static struct xfp_profile *profile;
static xcu_deviceptr memory;
static size_t touched;
static bool writes;

void xferscope_simgpu_kernel_toucher(void **params, const unsigned grid[3],
                                     const unsigned block[3]);
__attribute__((visibility("default"))) void
xferscope_simgpu_kernel_toucher(void **params, const unsigned grid[3], const unsigned block[3])
{
    xferscope_simgpu_touch((void *)memory, touched, writes);
    xferscope_simgpu_kernel_ns(0);
}

static uint64_t time_of(enum xfp_method method, enum xft_memory src, int from, enum xft_memory dst,
                        int to, uint64_t bytes)
{
    struct xfp_place a = {src, from, -1}, b = {dst, to, -1};
    const struct xfp_path *path = xfp_find(profile, method, a, b, false);

    assert_non_null(path);
    return (uint64_t)llround(xfp_time(path, bytes).ns);
}

static uint64_t demand_ns(bool up, uint64_t bytes)
{
    return up ? time_of(XFP_DEMAND, XFT_MEM_MANAGED, -1, XFT_MEM_MANAGED, 0, bytes)
              : time_of(XFP_DEMAND, XFT_MEM_MANAGED, 0, XFT_MEM_MANAGED, -1, bytes);
}

static uint64_t over_link_ns(bool up, uint64_t bytes)
{
    return up ? time_of(XFP_MAPPED_READ, XFT_MEM_MAPPED, -1, XFT_MEM_DEVICE, 0, bytes)
              : time_of(XFP_MAPPED_WRITE, XFT_MEM_DEVICE, 0, XFT_MEM_MAPPED, -1, bytes);
}

/* What a kernel takes that touches so much of it. */
static uint64_t kernel_ns(size_t bytes, bool write)
{
    static void *module, *function;
    uint64_t begun;

    touched = bytes;
    writes = write;
    if (!module) {
        OK(cuModuleLoadData(&module, "anything"));
        OK(cuModuleGetFunction(&function, module, "toucher"));
    }
    OK(cuCtxSynchronize());
    begun = xferscope_simgpu_now_ns();
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    return xferscope_simgpu_now_ns() - begun;
}

static uint64_t host_ns(bool write)
{
    uint64_t begun = xferscope_simgpu_now_ns();

    xferscope_simgpu_touch((void *)memory, BIG, write);
    return xferscope_simgpu_now_ns() - begun;
}

static void advise(int advice, int place)
{
    OK(cuMemAdvise(memory, BIG, advice, place));
}

static int start(void **state)
{
    char error[256];
    xcu_context context;

    profile = xfp_read_file(SIM_PROFILE, error, sizeof(error));
    assert_non_null(profile);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return 0;
}

static int end(void **state)
{
    xfp_free(profile);
    return 0;
}

/* On the host. */
static int allocate(void **state)
{
    OK(cuMemAllocManaged(&memory, BIG, 1));
    kernel_ns(BIG, true);
    assert_int_equal(host_ns(true), demand_ns(false, BIG));
    return 0;
}

static int release(void **state)
{
    OK(cuMemFree_v2(memory));
    return 0;
}

/* The wait for it takes as long, or that of a call. */
static bool took(uint64_t ns, uint64_t should)
{
    const uint64_t begun = 2; /* at most: a kernel that faults has begun before */

    should = SUBMIT + (should > CALL ? should : CALL);
    return ns + begun >= should && ns <= should + begun;
}

static void unadvised(void **state)
{
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
    assert_true(took(kernel_ns(BIG, false), 0));
    assert_int_equal(host_ns(false), demand_ns(false, BIG));
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
}

/* Each side reads a copy of its own, until somebody writes. */
static void read_mostly(void **state)
{
    advise(READ_MOSTLY, HOST);
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(host_ns(false), 0);
        assert_true(took(kernel_ns(BIG, false), 0));
    }
    assert_int_equal(host_ns(true), 0); /* it has the data, the GPU's copy goes */
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
    assert_true(took(kernel_ns(BIG, true), 0)); /* the same the other way */
    assert_int_equal(host_ns(false), demand_ns(false, BIG));
    assert_true(took(kernel_ns(BIG, false), 0));
}

/* A prefetch makes a copy, too. Of several one is left in the end. */
static void read_mostly_prefetched(void **state)
{
    advise(READ_MOSTLY, HOST);
    OK(cuMemPrefetchAsync(memory, BIG, GPU, NULL));
    OK(cuCtxSynchronize());
    assert_true(took(kernel_ns(BIG, false), 0));
    assert_int_equal(host_ns(false), 0);
    advise(PREFERRED, GPU);
    advise(NOT_READ_MOSTLY, HOST);
    assert_true(took(kernel_ns(BIG, false), 0));
    assert_int_equal(host_ns(false), demand_ns(false, BIG));
}

/* Kernels reach what is to stay with the host over the link; where it is elsewhere it comes. */
static void preferred(void **state)
{
    advise(PREFERRED, HOST);
    assert_true(took(kernel_ns(PART, false), over_link_ns(true, PART)));
    assert_true(took(kernel_ns(PART, true), over_link_ns(false, PART)));
    assert_int_equal(host_ns(true), 0);
    OK(cuMemPrefetchAsync(memory, BIG, GPU, NULL));
    assert_true(took(kernel_ns(BIG, true), 0)); /* it was sent all the same */
    assert_int_equal(host_ns(false), demand_ns(false, BIG));
    advise(NOT_PREFERRED, HOST);
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
    advise(PREFERRED, GPU); /* which the host cannot reach */
    assert_int_equal(host_ns(false), demand_ns(false, BIG));
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
}

static void accessed_by(void **state)
{
    advise(ACCESSED_BY, GPU);
    assert_true(took(kernel_ns(PART, false), over_link_ns(true, PART)));
    assert_int_equal(host_ns(true), 0);
    advise(READ_MOSTLY, HOST); /* comes first */
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
    advise(NOT_READ_MOSTLY, HOST);
    assert_true(took(kernel_ns(PART, false), over_link_ns(true, PART)));
    advise(NOT_ACCESSED_BY, GPU);
    assert_true(took(kernel_ns(BIG, false), demand_ns(true, BIG)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, allocate, release)
    const struct CMUnitTest tests[] = {
        TEST(unadvised), TEST(read_mostly), TEST(read_mostly_prefetched),
        TEST(preferred), TEST(accessed_by),
    };

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-h200", 1);
    return cmocka_run_group_tests(tests, start, end);
}
