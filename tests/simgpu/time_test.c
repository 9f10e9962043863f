/*
 * When things start and end on the virtual clock, to the nanosecond, against the profile.
 */
#include "tests/simgpu/cu.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/simgpu.h"
#include "xferscope/profile.h"

enum { CALL = 200, SUBMIT = 2000, KERNEL = 10000, BIG = 1 << 20, SMALL = 64 };

static struct xfp_profile *profile;
static xcu_context contexts[4];
static xcu_deviceptr device, peer;
static char *pinned, *pageable;

static int start(void **state)
{
    char error[256];

    profile = xfp_read_file(SIM_PROFILE, error, sizeof(error));
    assert_non_null(profile);
    OK(cuInit(0));
    for (int i = 0; i < 4; i++)
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    OK(cuCtxSetCurrent(contexts[1]));
    peer = device_memory(BIG);
    OK(cuCtxSetCurrent(contexts[0]));
    device = device_memory(BIG);
    pinned = pinned_memory(BIG);
    pageable = calloc(1, BIG);
    return 0;
}

static int end(void **state)
{
    xfp_free(profile);
    free(pageable);
    return 0;
}

static int idle(void **state)
{
    OK(cuCtxSetCurrent(contexts[0]));
    return cuCtxSynchronize();
}

static const struct xfp_path *path(enum xft_memory kind, int numa, bool up)
{
    struct xfp_place host = {kind, -1, numa}, there = {XFT_MEM_DEVICE, 0, -1};
    const struct xfp_path *p = up ? xfp_find(profile, XFP_COPY, host, there, false)
                                  : xfp_find(profile, XFP_COPY, there, host, false);

    assert_non_null(p);
    return p;
}

static uint64_t ns(struct xfp_estimate e)
{
    return (uint64_t)llround(e.ns);
}

static uint64_t copy_ns(bool up, uint64_t bytes)
{
    return ns(xfp_time(path(XFT_MEM_PINNED, 0, up), bytes));
}

static uint64_t now(void)
{
    return xferscope_simgpu_now_ns();
}

static void blocking_copies(void **state)
{
    uint64_t t = now();

    OK(cuMemcpyHtoD_v2(device, pinned, BIG));
    assert_int_equal(now() - t, ns(xfp_blocking_time(path(XFT_MEM_PINNED, 0, true), BIG)));
    t = now();
    OK(cuMemcpyDtoH_v2(pageable, device, SMALL));
    assert_int_equal(now() - t, ns(xfp_blocking_time(path(XFT_MEM_PAGEABLE, 0, false), SMALL)));
}

static void asynchronous_copy(void **state)
{
    uint64_t t = now(), all = copy_ns(true, BIG);
    xcu_stream stream;

    OK(cuStreamCreate(&stream, 1));
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, stream));
    assert_int_equal(now() - t, SUBMIT);
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(now() - t, all);
    OK(cuStreamQuery(stream));
    OK(cuStreamDestroy_v2(stream));
}

static void pageable_copies_keep_the_caller(void **state)
{
    uint64_t t = now();

    OK(cuMemcpyDtoHAsync_v2(pageable, device, BIG, NULL));
    assert_int_equal(now() - t, ns(xfp_time(path(XFT_MEM_PAGEABLE, 0, false), BIG)));
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pageable, BIG, NULL));
    assert_true(now() - t > copy_ns(true, BIG)); /* staged, not just submitted */
}

static void device_copies_do_not_wait(void **state)
{
    uint64_t t = now();

    OK(cuMemcpyDtoD_v2(device, device + BIG / 2, BIG / 2));
    assert_int_equal(now() - t, SUBMIT);
}

/* The two directions have an engine each, so they overlap; one direction does not. */
static void engines(void **state)
{
    const struct xfp_fit *fit = &path(XFT_MEM_PINNED, 0, true)->fit;
    uint64_t up = copy_ns(true, BIG), down = copy_ns(false, BIG), t, behind;
    xcu_stream a, b;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, a));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, b));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, up > SUBMIT + down ? up : SUBMIT + down);

    behind = (uint64_t)llround(fit->g_ns) + up - (uint64_t)llround(fit->Lo_ns);
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, a));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, b));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, up + behind);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

/* An engine takes what is ready first: a copy that waits for its stream keeps no other stream's. */
static void ready_first(void **state)
{
    uint64_t up = copy_ns(true, BIG), down = copy_ns(false, BIG), small = copy_ns(true, SMALL), t;
    xcu_stream a, b;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    t = now();
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, a));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, a));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, SMALL, b));
    OK(cuStreamSynchronize(b));
    assert_int_equal(now() - t, 2 * SUBMIT + small);
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, b)); /* too long for what is left */
    OK(cuStreamSynchronize(a));
    assert_int_equal(now() - t, down + up);
    assert_int_equal(XCU_ERROR_NOT_READY, cuStreamQuery(b));
    OK(cuStreamSynchronize(b));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static float between(xcu_event a, xcu_event b)
{
    float ms = -1;

    OK(cuEventElapsedTime(&ms, a, b));
    return ms;
}

static void assert_ns(float ms, uint64_t expected)
{
    assert_true(fabs((double)ms * 1e6 - (double)expected) <= 1.0 + (double)expected * 1e-6);
}

static void *gate_function(void)
{
    void *module, *function;

    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    OK(cuModuleGetFunction(&function, module, "xfp_gate"));
    return function;
}

static void close_gate(void *function, uint32_t *words, uint64_t limit, xcu_stream stream)
{
    void *params[] = {&words, &limit};

    words[0] = words[1] = 0;
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void gate(void **state)
{
    uint32_t *words = pinned_memory(8);
    void *function = gate_function();
    uint64_t one = copy_ns(true, SMALL), t;
    xcu_event e[4];
    xcu_stream stream;

    OK(cuStreamCreate(&stream, 1));
    for (int i = 0; i < 4; i++)
        OK(cuEventCreate(&e[i], 0));
    close_gate(function, words, 1000000000, stream);
    memset(pinned, 1, 2 * SMALL);
    OK(cuMemsetD8_v2(device, 0, SMALL));
    OK(cuEventRecord(e[0], stream));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, SMALL, stream));
    OK(cuEventRecord(e[1], stream));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, SMALL, stream));
    OK(cuEventRecord(e[2], stream));
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(stream));
    IS(XCU_ERROR_NOT_READY, cuEventQuery(e[0]));
    assert_int_equal(*(unsigned char *)device, 0); /* held back, data and all */
    words[0] = 1;
    t = now();
    OK(cuStreamSynchronize(stream));
    assert_int_equal(now() - t, 2 * one); /* what was queued takes device time only */
    assert_ns(between(e[0], e[1]), one);
    assert_ns(between(e[1], e[2]), one);
    assert_int_equal(*(unsigned char *)device, 1);
    assert_int_equal(words[1], 0);

    close_gate(function, words, 5000, stream); /* nobody opens it */
    OK(cuEventRecord(e[3], stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(words[1], 1);
    for (int i = 0; i < 4; i++)
        OK(cuEventDestroy_v2(e[i]));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFreeHost(words));
}

static void *open_gate(void *words)
{
    *(volatile uint32_t *)words = 1;
    return NULL;
}

static void gate_opened_by_another_thread(void **state)
{
    uint32_t *words = pinned_memory(8);
    pthread_t thread;

    close_gate(gate_function(), words, 0, NULL);
    pthread_create(&thread, NULL, open_gate, words);
    OK(cuCtxSynchronize());
    pthread_join(thread, NULL);
    assert_int_equal(words[0], 1);
    assert_int_equal(words[1], 0);
    OK(cuMemFreeHost(words));
}

/* Behind a gate on another stream, by an event; a destroyed stream still does its work. */
static void waits_for_events(void **state)
{
    uint32_t *words = pinned_memory(8);
    xcu_stream a, b;
    xcu_event e;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuEventCreate(&e, 0));
    OK(cuMemsetD8_v2(device, 0, SMALL));
    memset(pinned, 3, SMALL);
    close_gate(gate_function(), words, 1000000000, a);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, SMALL, b));
    OK(cuEventDestroy_v2(e));
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(b));
    OK(cuStreamDestroy_v2(b));
    assert_int_equal(*(unsigned char *)device, 0);
    words[0] = 1;
    OK(cuCtxSynchronize());
    assert_int_equal(*(unsigned char *)device, 3);
    OK(cuStreamDestroy_v2(a));
    OK(cuMemFreeHost(words));
}

/* The legacy default stream waits for blocking streams and they for it; others do not care. */
static void legacy_stream(void **state)
{
    uint64_t up = copy_ns(true, BIG), down = copy_ns(false, BIG), t;
    xcu_stream blocking, free_one;

    OK(cuStreamCreate(&blocking, 0));
    OK(cuStreamCreate(&free_one, 1));
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, blocking));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, NULL));
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(now() - t, up + down);
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, free_one));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, NULL));
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(now() - t, SUBMIT + down);
    OK(cuStreamDestroy_v2(blocking));
    OK(cuStreamDestroy_v2(free_one));
}

/* Two branches of a captured graph overlap; the second starts where the first began. */
static void graph_branches(void **state)
{
    uint64_t up = copy_ns(true, BIG), down = copy_ns(false, BIG), t;
    xcu_stream a, b;
    xcu_event fork_event, join_event;
    xcu_graph graph;
    xcu_graph_exec exec;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuEventCreate(&fork_event, 2));
    OK(cuEventCreate(&join_event, 2));
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuEventRecord(fork_event, a));
    OK(cuStreamWaitEvent(b, fork_event, 0));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, a));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, b));
    OK(cuEventRecord(join_event, b));
    IS(XCU_ERROR_CAPTURED_EVENT, cuEventQuery(join_event));
    OK(cuStreamWaitEvent(a, join_event, 0));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    t = now();
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    assert_int_equal(now() - t, SUBMIT + (up > down ? up : down));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static uint64_t peer_copy_ns(void)
{
    xcu_event a, b;
    float ms;

    OK(cuEventCreate(&a, 0));
    OK(cuEventCreate(&b, 0));
    OK(cuCtxSynchronize());
    OK(cuEventRecord(a, NULL));
    OK(cuMemcpyPeerAsync(peer, contexts[1], device, contexts[0], BIG, NULL));
    OK(cuEventRecord(b, NULL));
    OK(cuEventSynchronize(b));
    ms = between(a, b);
    OK(cuEventDestroy_v2(a));
    OK(cuEventDestroy_v2(b));
    return (uint64_t)llround((double)ms * 1e6);
}

static const struct xfp_path *named(const char *name)
{
    for (size_t i = 0; i < profile->path_count; i++)
        if (!strcmp(profile->paths[i].name, name))
            return &profile->paths[i];
    return NULL;
}

static void peer_access(void **state)
{
    uint64_t slow = ns(xfp_time(named("copy/no-peer/p2p/gpu0-gpu1"), BIG));
    uint64_t fast = ns(xfp_time(named("copy/peer/p2p/gpu0-gpu1"), BIG));

    assert_ns((float)((double)peer_copy_ns() / 1e6), slow);
    OK(cuCtxEnablePeerAccess(contexts[1], 0));
    assert_ns((float)((double)peer_copy_ns() / 1e6), fast);
    OK(cuCtxDisablePeerAccess(contexts[1]));
    assert_true(fast * 2 < slow);
}

static void numa(void **state)
{
    uint64_t near = copy_ns(true, BIG), far = ns(xfp_time(path(XFT_MEM_PINNED, 1, true), BIG)), t;
    char *remote;

    xferscope_simgpu_bind_numa(1);
    remote = pinned_memory(BIG);
    xferscope_simgpu_bind_numa(-1);
    assert_int_equal(xferscope_simgpu_numa_of(remote + 5), 1);
    assert_int_equal(xferscope_simgpu_numa_of(pinned), 0);
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, remote, BIG, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, far);
    assert_true(far > near * 3 / 2);
    OK(cuMemFreeHost(remote));
}

/* A prefetch of what is already there takes no time; the kernel finds migrated data migrated. */
static void migration(void **state)
{
    struct xfp_place host = {XFT_MEM_MANAGED, -1, -1}, there = {XFT_MEM_MANAGED, 0, -1};
    uint64_t up = ns(xfp_time(xfp_find(profile, XFP_PREFETCH, host, there, false), BIG));
    uint64_t back = ns(xfp_time(xfp_find(profile, XFP_DEMAND, there, host, false), BIG)), t;
    xcu_deviceptr m;

    OK(cuMemAllocManaged(&m, BIG, 1));
    t = now();
    OK(cuMemPrefetchAsync(m, BIG, 0, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + up);
    t = now();
    OK(cuMemPrefetchAsync(m, BIG, 0, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + CALL);
    t = now();
    xferscope_simgpu_touch((void *)m, BIG, 1);
    assert_int_equal(now() - t, back);
    OK(cuMemFree_v2(m));
}

static int twin_calls;

void xferscope_simgpu_kernel_add_one(void **params, const unsigned grid[3],
                                     const unsigned block[3]);
__attribute__((visibility("default"))) void
xferscope_simgpu_kernel_add_one(void **params, const unsigned grid[3], const unsigned block[3])
{
    unsigned char *p = *(unsigned char **)params[0];

    for (int i = 0; i < *(int *)params[1]; i++)
        p[i]++;
    twin_calls += (int)(grid[0] * block[0]);
    xferscope_simgpu_kernel_ns(77777);
}

static void kernels(void **state)
{
    void *module, *add_one, *unknown;
    int count = SMALL;
    void *params[] = {&device, &count};
    uint64_t t;

    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    OK(cuModuleGetFunction(&add_one, module, "add_one"));
    OK(cuModuleGetFunction(&unknown, module, "unknown"));
    OK(cuMemsetD8_v2(device, 4, SMALL));
    OK(cuCtxSynchronize());
    t = now();
    OK(cuLaunchKernel(add_one, 2, 1, 1, 3, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + 77777);
    assert_int_equal(twin_calls, 6);
    assert_int_equal(*(unsigned char *)device, 5);
    t = now();
    OK(cuLaunchKernel(unknown, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + KERNEL);
    OK(cuModuleUnload(module));
}

/* The probe's reading kernel: its result, and the time of mapped memory. */
static void reading_kernel(void **state)
{
    struct xfp_place host = {XFT_MEM_MAPPED, -1, 0}, there = {XFT_MEM_DEVICE, 0, -1};
    uint64_t expected = ns(xfp_time(xfp_find(profile, XFP_MAPPED_READ, host, there, false), BIG));
    uint64_t bytes = BIG, t;
    xcu_deviceptr sink = device_memory(4);
    uint32_t *words = NULL, result = 0;
    void *module, *function, *params[] = {&words, &bytes, &sink};

    OK(cuMemHostAlloc((void **)&words, BIG, XCU_HOST_DEVICEMAP));
    memset(words, 0, BIG);
    words[7] = 0xf0;
    words[1000] = 0x0f;
    OK(cuMemsetD8_v2(sink, 0, 4));
    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    OK(cuModuleGetFunction(&function, module, "xfp_read"));
    OK(cuCtxSynchronize());
    t = now();
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + expected);
    OK(cuMemcpyDtoH_v2(&result, sink, 4));
    assert_int_equal(result, 0xff);
    OK(cuModuleUnload(module));
    OK(cuMemFree_v2(sink));
    OK(cuMemFreeHost(words));
}

/* Kernels that read the host's memory share the link with each other and with copies to the device;
 * the latency of the later one passes meanwhile. */
static void shared_link(void **state)
{
    struct xfp_place host = {XFT_MEM_MAPPED, -1, 0}, there = {XFT_MEM_DEVICE, 0, -1};
    const struct xfp_path *read = xfp_find(profile, XFP_MAPPED_READ, host, there, false);
    uint64_t alone = ns(xfp_time(read, BIG)), behind = alone - ns(xfp_time(read, 1)), t;
    uint64_t up = copy_ns(true, BIG), down = copy_ns(false, BIG), bytes = BIG;
    xcu_deviceptr sink = device_memory(4);
    uint32_t *words = NULL;
    void *module, *function, *params[] = {&words, &bytes, &sink};
    xcu_stream a, b;

    OK(cuMemHostAlloc((void **)&words, BIG, XCU_HOST_DEVICEMAP));
    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    OK(cuModuleGetFunction(&function, module, "xfp_read"));
    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    t = now();
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, a, params, NULL));
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, b, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, SUBMIT + alone + behind);
    t = now();
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, a));
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, b, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, up + behind);
    t = now();
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, a)); /* the other way */
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, b, params, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(now() - t, down > SUBMIT + alone ? down : 2 * SUBMIT + alone);
    t = now();
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, a));
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG,
                            a)); /* not ready yet: what is left is read before */
    OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, b, params, NULL));
    OK(cuCtxSynchronize());
    assert_true(3 * SUBMIT + alone > down);
    assert_int_equal(now() - t, up + 3 * SUBMIT + alone);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuModuleUnload(module));
    OK(cuMemFree_v2(sink));
    OK(cuMemFreeHost(words));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, idle)
    const struct CMUnitTest tests[] = {
        TEST(blocking_copies),
        TEST(asynchronous_copy),
        TEST(pageable_copies_keep_the_caller),
        TEST(device_copies_do_not_wait),
        TEST(engines),
        TEST(ready_first),
        TEST(gate),
        TEST(gate_opened_by_another_thread),
        TEST(waits_for_events),
        TEST(legacy_stream),
        TEST(graph_branches),
        TEST(peer_access),
        TEST(numa),
        TEST(migration),
        TEST(kernels),
        TEST(reading_kernel),
        TEST(shared_link),
    };

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-2socket-4gpu", 1);
    return cmocka_run_group_tests(tests, start, end);
}
