/*
 * XFERSCOPE_SIMGPU_LAZY=1: what nothing waits for is not done, however late it is; every way to
 * wait has it done, and with it what it has to follow, and nothing else. That both modes give the
 * same times is what simgpu.time_lazy shows.
 */
#include "tests/simgpu/cu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/simgpu.h"

enum { BIG = 1 << 20, SMALL = 64, OLD = 1, NEW = 2, LONG_NS = 1000000000 };

static xcu_context context;
static xcu_deviceptr device, other;
static unsigned char *pinned, *pageable;
static xcu_stream a, b; /* non-blocking */
static void *module;

static int start(void **state)
{
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    device = device_memory(BIG);
    other = device_memory(BIG);
    pinned = pinned_memory(BIG);
    pageable = malloc(BIG);
    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    return pageable ? 0 : -1;
}

/* The simulated GPU's memory is the host's: both ends are what they are, whatever is still owed. */
static unsigned char first(xcu_deviceptr address)
{
    return *(volatile unsigned char *)address;
}

static int idle(void **state)
{
    OK(cuCtxSynchronize());
    memset((void *)device, OLD, BIG);
    memset((void *)other, OLD, BIG);
    memset(pinned, NEW, BIG);
    memset(pageable, NEW, BIG);
    return 0;
}

static void upload(xcu_stream stream)
{
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BIG, stream));
}

/* ---- nothing without a wait, all with each of them ------------------------------------------ */

static void time_alone_does_nothing(void **state)
{
    upload(a);
    OK(cuMemsetD8_v2(other, NEW, BIG)); /* of device memory: does not wait */
    xferscope_simgpu_spend_ns(LONG_NS);
    assert_int_equal(first(device), OLD);
    assert_int_equal(first(other), OLD);
    OK(cuStreamSynchronize(a));
    assert_int_equal(first(device), NEW);
    assert_int_equal(first(device + BIG - 1), NEW);
    assert_int_equal(first(other), OLD);
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(first(other), NEW);
}

static void downloads_and_copies_on_the_device_too(void **state)
{
    memset((void *)device, 3, BIG);
    OK(cuMemcpyDtoHAsync_v2(pinned, device, BIG, a));
    OK(cuMemcpyDtoD_v2(other, device, BIG)); /* does not wait either */
    assert_int_equal(pinned[0], NEW);
    assert_int_equal(first(other), OLD);
    OK(cuCtxSynchronize());
    assert_int_equal(pinned[BIG - 1], 3);
    assert_int_equal(first(other), 3);
}

static void a_query_once_the_time_has_come(void **state)
{
    upload(a);
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(a));
    assert_int_equal(first(device), OLD);
    xferscope_simgpu_spend_ns(LONG_NS);
    OK(cuStreamQuery(b));
    assert_int_equal(first(device), OLD);
    OK(cuStreamQuery(a));
    assert_int_equal(first(device), NEW);
}

static void events(void **state)
{
    xcu_event before, after;

    OK(cuEventCreate(&before, 0));
    OK(cuEventCreate(&after, 0));
    OK(cuEventRecord(before, a));
    upload(a);
    OK(cuEventRecord(after, a));
    OK(cuMemcpyDtoHAsync_v2(pinned, other, BIG, a));
    OK(cuEventSynchronize(before));
    assert_int_equal(first(device), OLD);
    IS(XCU_ERROR_NOT_READY, cuEventQuery(after));
    OK(cuEventSynchronize(after));
    assert_int_equal(first(device), NEW);
    assert_int_equal(pinned[0], NEW); /* what comes behind the event is not waited for */
    OK(cuStreamSynchronize(a));
    assert_int_equal(pinned[0], OLD);
    OK(cuEventRecord(after, a));
    OK(cuEventDestroy_v2(after));
    OK(cuEventDestroy_v2(before));
}

static void an_event_that_is_asked(void **state)
{
    xcu_event event;

    OK(cuEventCreate(&event, 0));
    upload(a);
    OK(cuEventRecord(event, a));
    xferscope_simgpu_spend_ns(LONG_NS);
    assert_int_equal(first(device), OLD);
    OK(cuEventQuery(event));
    assert_int_equal(first(device), NEW);
    OK(cuEventDestroy_v2(event));
}

static void what_frees_memory_waits(void **state)
{
    xcu_deviceptr more = device_memory(SMALL);
    void *host = pinned_memory(SMALL);

    upload(a);
    OK(cuMemFree_v2(more));
    assert_int_equal(first(device), NEW);
    memset((void *)device, OLD, BIG);
    upload(a);
    OK(cuMemFreeHost(host));
    assert_int_equal(first(device), NEW);
    memset((void *)device, OLD, BIG);
    OK(cuMemHostRegister_v2(pageable, BIG, 0));
    OK(cuMemcpyHtoDAsync_v2(device, pageable, BIG, a));
    assert_int_equal(first(device), OLD);
    OK(cuMemHostUnregister(pageable));
    assert_int_equal(first(device), NEW);
}

/* ---- order ---------------------------------------------------------------------------------- */

static void one_stream_is_not_the_other(void **state)
{
    upload(a);
    OK(cuMemcpyDtoHAsync_v2(pinned + SMALL, other, SMALL, b));
    OK(cuStreamSynchronize(b));
    assert_int_equal(pinned[SMALL], OLD);
    assert_int_equal(first(device), OLD);
    OK(cuStreamSynchronize(a));
    assert_int_equal(first(device), NEW);
}

static void an_event_ties_streams(void **state)
{
    xcu_event event;

    OK(cuEventCreate(&event, 0));
    upload(a);
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, SMALL, b)); /* overwrites what was uploaded */
    memset(pinned, 3, BIG);
    OK(cuEventDestroy_v2(event));
    OK(cuStreamSynchronize(b));
    assert_int_equal(first(device), 3);
    assert_int_equal(pinned[0], 3);
}

static void the_legacy_stream(void **state)
{
    xcu_stream blocking;

    OK(cuStreamCreate(&blocking, 0));
    upload(blocking);
    OK(cuMemcpyDtoHAsync_v2(pinned + SMALL, other, SMALL, a));
    OK(cuMemcpyDtoH_v2(pageable, device, SMALL)); /* behind blocking streams only */
    assert_int_equal(pageable[0], NEW);
    assert_int_equal(pinned[SMALL], NEW);
    OK(cuMemsetD8_v2(device, 3, BIG));
    OK(cuMemcpyDtoHAsync_v2(pinned, device, SMALL, blocking)); /* and they behind it */
    OK(cuStreamSynchronize(blocking));
    assert_int_equal(pinned[0], 3);
    OK(cuStreamDestroy_v2(blocking));
}

static void a_destroyed_stream(void **state)
{
    xcu_stream stream;

    OK(cuStreamCreate(&stream, 1));
    upload(stream);
    OK(cuStreamDestroy_v2(stream));
    xferscope_simgpu_spend_ns(LONG_NS);
    assert_int_equal(first(device), OLD);
    OK(cuCtxSynchronize());
    assert_int_equal(first(device), NEW);
}

/* ---- what programs may rely on -------------------------------------------------------------- */

static void pageable_sources_have_been_read(void **state)
{
    static const size_t sizes[] = {SMALL, BIG};

    for (int i = 0; i < 2; i++) {
        idle(NULL);
        OK(cuMemcpyHtoDAsync_v2(device, pageable, sizes[i], a));
        assert_int_equal(first(device), OLD);
        memset(pageable, 3, BIG);
        OK(cuStreamSynchronize(a));
        assert_int_equal(first(device), NEW);
        assert_int_equal(first(device + sizes[i] - 1), NEW);
    }
}

static void pageable_targets_are_there(void **state)
{
    OK(cuMemcpyDtoHAsync_v2(pageable, device, SMALL, a));
    assert_int_equal(pageable[0], OLD);
    OK(cuMemcpyHtoD_v2(device, pinned, SMALL));
    assert_int_equal(first(device), NEW);
}

static void rows_of_pageable_memory(void **state)
{
    const struct xcu_memcpy2d what = {.src_type = XCU_MEMORY_HOST,
                                      .src_host = pageable,
                                      .src_pitch = 32,
                                      .dst_type = XCU_MEMORY_DEVICE,
                                      .dst_device = device,
                                      .dst_pitch = 64,
                                      .width = 16,
                                      .height = 3};

    OK(cuMemcpy2DAsync_v2(&what, a));
    memset(pageable, 3, BIG);
    OK(cuStreamSynchronize(a));
    for (int row = 0; row < 3; row++) {
        assert_int_equal(first(device + 64 * row + 15), NEW);
        assert_int_equal(first(device + 64 * row + 16), OLD);
    }
}

static void memory_freed_in_stream_order(void **state)
{
    xcu_deviceptr p;

    OK(cuMemAllocAsync(&p, SMALL, a));
    OK(cuMemcpyHtoDAsync_v2(p, pinned, SMALL, a));
    OK(cuMemcpyDtoHAsync_v2(pinned + SMALL, p, SMALL, a));
    OK(cuMemFreeAsync(p, a));
    memset(pinned, 3, SMALL);
    OK(cuStreamSynchronize(a));
    assert_int_equal(pinned[SMALL], 3);
    IS(XCU_ERROR_INVALID_VALUE, cuMemFreeAsync(p, a));
}

/* ---- what takes its own time: the host's functions and kernels' twins ----------------------- */

static int calls, seen;
enum { SPENT_NS = 50000 };

static void look(void *user)
{
    calls++;
    seen = first(device);
    xferscope_simgpu_spend_ns(SPENT_NS);
}

void xferscope_simgpu_kernel_add_one(void **params, const unsigned grid[3],
                                     const unsigned block[3]);
extern const size_t xferscope_simgpu_params_add_one[];
__attribute__((visibility("default"))) const size_t xferscope_simgpu_params_add_one[] = {8, 0};
__attribute__((visibility("default"))) void
xferscope_simgpu_kernel_add_one(void **params, const unsigned grid[3], const unsigned block[3])
{
    unsigned char *p = *(unsigned char **)params[0];

    seen = p[0]++;
    calls++;
    xferscope_simgpu_kernel_ns(SPENT_NS);
}

/* The same, but nobody can keep its parameters for later. */
void xferscope_simgpu_kernel_at_once(void **params, const unsigned grid[3],
                                     const unsigned block[3]);
__attribute__((visibility("default"))) void
xferscope_simgpu_kernel_at_once(void **params, const unsigned grid[3], const unsigned block[3])
{
    xferscope_simgpu_kernel_add_one(params, grid, block);
}

static void launch(const char *name, xcu_stream stream)
{
    xcu_deviceptr where = device;
    void *params[] = {&where}, *function;

    OK(cuModuleGetFunction(&function, module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    where = 0;
}

static int nothing_called(void **state)
{
    calls = seen = 0;
    return idle(state);
}

static void functions_of_the_host(void **state)
{
    uint64_t t;

    upload(a);
    OK(cuLaunchHostFunc(a, look, NULL));
    OK(cuMemcpyDtoHAsync_v2(pinned, other, SMALL, a));
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(a));
    OK(cuStreamSynchronize(b));
    assert_int_equal(calls, 0);
    OK(cuStreamSynchronize(a));
    assert_int_equal(calls, 1);
    assert_int_equal(seen, NEW);
    assert_int_equal(pinned[0], OLD);

    t = xferscope_simgpu_now_ns();
    OK(cuLaunchHostFunc(a, look, NULL));
    OK(cuMemcpyDtoHAsync_v2(pinned, other, SMALL, a));
    OK(cuStreamSynchronize(a));
    assert_true(xferscope_simgpu_now_ns() - t > SPENT_NS); /* and the copy behind it */
}

static void functions_of_the_host_when_asked(void **state)
{
    int asked = 1;

    OK(cuLaunchHostFunc(a, look, NULL));
    OK(cuMemcpyDtoHAsync_v2(pinned, other, SMALL, a));
    OK(cuStreamQuery(b));
    assert_int_equal(calls, 0);
    while (cuStreamQuery(a) == XCU_ERROR_NOT_READY)
        asked++;
    assert_int_equal(calls, 1);
    assert_true(asked > 1 && asked < 1000);
    assert_int_equal(pinned[0], OLD);
}

static void twins(void **state)
{
    upload(a);
    launch("add_one", a);
    OK(cuMemcpyDtoHAsync_v2(pinned, device, SMALL, a));
    xferscope_simgpu_spend_ns(LONG_NS);
    assert_int_equal(calls, 0);
    OK(cuStreamSynchronize(a));
    assert_int_equal(calls, 1);
    assert_int_equal(seen, NEW);
    assert_int_equal(pinned[0], NEW + 1);
}

static void twins_that_cannot_wait(void **state)
{
    upload(a);
    launch("add_one", a);
    launch("at_once", a);
    assert_int_equal(calls, 2);
    assert_int_equal(seen, NEW + 1);
    assert_int_equal(first(device), NEW + 2);
}

static void graphs(void **state)
{
    xcu_graph graph;
    xcu_graph_exec exec;

    OK(cuStreamBeginCapture_v2(a, 0));
    upload(a);
    OK(cuMemcpyDtoHAsync_v2(pinned + BIG / 2, device, SMALL, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, a));
    memset(pinned, 3, BIG / 2);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    assert_int_equal(first(device), OLD);
    OK(cuStreamSynchronize(a));
    assert_int_equal(first(device), 3);
    assert_int_equal(pinned[BIG / 2], 3);
}

static void graphs_with_functions_of_the_host(void **state)
{
    xcu_graph graph;
    xcu_graph_exec exec;

    OK(cuStreamBeginCapture_v2(a, 0));
    upload(a);
    OK(cuLaunchHostFunc(a, look, NULL));
    OK(cuMemcpyDtoHAsync_v2(pinned, other, SMALL, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, a));
    assert_int_equal(calls, 0);
    assert_int_equal(first(device), OLD);
    OK(cuStreamSynchronize(a));
    assert_int_equal(calls, 1);
    assert_int_equal(seen, NEW);
    assert_int_equal(pinned[0], OLD);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* ---- the gate, and another thread ----------------------------------------------------------- */

static void close_gate(uint32_t *words, xcu_stream stream)
{
    uint64_t limit = LONG_NS;
    void *params[] = {&words, &limit}, *function;

    memset(words, 0, 8);
    OK(cuModuleGetFunction(&function, module, "xfp_gate"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void behind_the_gate(void **state)
{
    uint32_t *words = pinned_memory(8);

    close_gate(words, a);
    upload(a);
    OK(cuMemcpyHtoDAsync_v2(other, pageable, SMALL, a));
    memset(pageable, 3, BIG);
    words[0] = 1;
    IS(XCU_ERROR_NOT_READY, cuStreamQuery(a));
    assert_int_equal(first(device), OLD);
    OK(cuStreamSynchronize(a));
    assert_int_equal(first(device), NEW);
    assert_int_equal(first(other), NEW);
    OK(cuMemFreeHost(words));
}

static void *wait_for_a(void *unused)
{
    OK(cuCtxSetCurrent(context));
    OK(cuStreamSynchronize(a));
    return NULL;
}

static void waited_for_by_another_thread(void **state)
{
    pthread_t thread;

    upload(a);
    OK(cuLaunchHostFunc(a, look, NULL));
    pthread_create(&thread, NULL, wait_for_a, NULL);
    OK(cuStreamSynchronize(a));
    assert_int_equal(calls, 1);
    assert_int_equal(seen, NEW);
    pthread_join(thread, NULL);
    assert_int_equal(calls, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, nothing_called)
    const struct CMUnitTest tests[] = {
        TEST(time_alone_does_nothing),
        TEST(downloads_and_copies_on_the_device_too),
        TEST(a_query_once_the_time_has_come),
        TEST(events),
        TEST(an_event_that_is_asked),
        TEST(what_frees_memory_waits),
        TEST(one_stream_is_not_the_other),
        TEST(an_event_ties_streams),
        TEST(the_legacy_stream),
        TEST(a_destroyed_stream),
        TEST(pageable_sources_have_been_read),
        TEST(pageable_targets_are_there),
        TEST(rows_of_pageable_memory),
        TEST(memory_freed_in_stream_order),
        TEST(functions_of_the_host),
        TEST(functions_of_the_host_when_asked),
        TEST(twins),
        TEST(twins_that_cannot_wait),
        TEST(graphs),
        TEST(graphs_with_functions_of_the_host),
        TEST(behind_the_gate),
        TEST(waited_for_by_another_thread),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
