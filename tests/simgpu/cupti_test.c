/*
 * The simulated CUPTI: what it reports of what the simulated driver does.
 */
#include "tests/simgpu/cu.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/cupti/records.h"
#include "tools/simgpu/simgpu.h"
#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

#define DECLARE(name, params) xcp_result cupti##name params;
XCP_FUNCTIONS(DECLARE)
XCP_OPTIONAL_FUNCTIONS(DECLARE)
xcp_result cuptiActivityDisable(int kind);

enum { N = 4096, BUFFER = 1 << 16, MOST = 64 };

static union {
    int kind;
    struct sim_cupti_memcpy copy;
    struct sim_cupti_memcpy2 peer;
    struct sim_cupti_memset memset;
    struct sim_cupti_kernel kernel;
    struct sim_cupti_counter counter;
} records[MOST];
static int count;
static size_t buffer_bytes = BUFFER;
static xcu_context contexts[2];
static xcp_subscriber subscriber;

static void requested(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = buffer_bytes ? malloc(buffer_bytes) : NULL;
    *size = buffer_bytes;
    *max = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct xcp_activity *record = NULL;

    while (!cuptiActivityGetNextRecord(buffer, valid, &record) && count < MOST)
        memcpy(&records[count++], record,
               record->kind == SIM_CUPTI_MEMCPY    ? sizeof(struct sim_cupti_memcpy)
               : record->kind == SIM_CUPTI_MEMCPY2 ? sizeof(struct sim_cupti_memcpy2)
               : record->kind == SIM_CUPTI_MEMSET  ? sizeof(struct sim_cupti_memset)
               : record->kind == SIM_CUPTI_COUNTER ? sizeof(struct sim_cupti_counter)
                                                   : sizeof(struct sim_cupti_kernel));
    free(buffer);
}

static struct {
    uint32_t number, correlation;
    int site, result;
} seen[MOST];
static int seen_count;

static void on_call(void *user, int domain, uint32_t number, const void *data)
{
    const struct xcp_callback_data *d = data;

    assert_ptr_equal(user, &seen_count);
    assert_int_equal(domain, XCP_DOMAIN_DRIVER);
    if (seen_count == MOST)
        return;
    seen[seen_count].number = number;
    seen[seen_count].correlation = d->correlation;
    seen[seen_count].site = d->site;
    seen[seen_count++].result = d->site ? *(int *)d->return_value : -1;
}

static int start(void **state)
{
    xcp_subscriber second;

    OK(cuptiSubscribe(&subscriber, on_call, &seen_count));
    IS(XCP_ERROR_MULTIPLE_SUBSCRIBERS, cuptiSubscribe(&second, on_call, NULL));
    OK(cuptiActivityRegisterTimestampCallback(xferscope_simgpu_now_ns));
    OK(cuptiActivityRegisterCallbacks(requested, completed));
    OK(cuptiActivityEnable(SIM_CUPTI_MEMCPY));
    OK(cuptiActivityEnable(SIM_CUPTI_MEMCPY2));
    OK(cuptiActivityEnable(SIM_CUPTI_MEMSET));
    OK(cuptiActivityEnable(SIM_CUPTI_CONCURRENT_KERNEL));
    assert_int_not_equal(cuptiActivityEnable(9999), 0);
    OK(cuptiEnableCallback(1, subscriber, XCP_DOMAIN_DRIVER, 277)); /* cuMemcpyHtoDAsync_v2 */
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    return 0;
}

static int begin(void **state)
{
    count = seen_count = 0;
    return cuCtxSetCurrent(contexts[0]);
}

static int flush(void)
{
    OK(cuptiActivityFlushAll(0));
    return count;
}

static void one_copy(void **state)
{
    char *host = pinned_memory(N);
    xcu_deviceptr p = device_memory(N);
    uint64_t before = xferscope_simgpu_now_ns();

    OK(cuMemcpyHtoDAsync_v2(p, host, N, NULL));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2(p, host, N + 1, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(flush(), 1);
    assert_int_equal(records[0].copy.kind, SIM_CUPTI_MEMCPY);
    assert_int_equal(records[0].copy.copy_kind, XCP_COPY_HTOD);
    assert_int_equal(records[0].copy.src_kind, XCP_MEMORY_PINNED);
    assert_int_equal(records[0].copy.dst_kind, XCP_MEMORY_DEVICE);
    assert_int_equal(records[0].copy.flags, XCP_MEMCPY_ASYNC);
    assert_int_equal(records[0].copy.bytes, N);
    assert_int_equal(records[0].copy.copy_count, 1);
    assert_int_equal(records[0].copy.start, before);
    assert_true(records[0].copy.end > before);
    assert_true(records[0].copy.end <= xferscope_simgpu_now_ns());
    assert_int_equal(seen_count, 4);
    assert_int_equal(seen[0].number, 277);
    assert_int_equal(seen[0].site, 0);
    assert_int_equal(seen[0].correlation, records[0].copy.correlation);
    assert_int_equal(seen[1].correlation, records[0].copy.correlation);
    assert_int_equal(seen[1].result, XCU_SUCCESS);
    assert_int_equal(seen[3].result, XCU_ERROR_INVALID_VALUE);
    assert_int_not_equal(seen[2].correlation, seen[0].correlation);
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(host));
}

static void other_kinds(void **state)
{
    xcu_deviceptr p = device_memory(N), q;
    void *module, *function;
    char out[16];

    OK(cuCtxSetCurrent(contexts[1]));
    q = device_memory(N);
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuModuleLoadData(&module, "\x7f"
                                 "ELF"));
    OK(cuModuleGetFunction(&function, module, "some_kernel"));
    OK(cuMemsetD8_v2(p, 3, N));
    OK(cuCtxEnablePeerAccess(contexts[1], 0));
    OK(cuMemcpyPeerAsync(q, contexts[1], p, contexts[0], N, NULL));
    OK(cuCtxDisablePeerAccess(contexts[1]));
    OK(cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    OK(cuMemcpyDtoH_v2(out, p, sizeof(out)));
    assert_int_equal(flush(), 4);
    assert_int_equal(records[0].memset.kind, SIM_CUPTI_MEMSET);
    assert_int_equal(records[0].memset.value, 3);
    assert_int_equal(records[0].memset.bytes, N);
    assert_int_equal(records[1].peer.kind, SIM_CUPTI_MEMCPY2);
    assert_int_equal(records[1].peer.src_device, 0);
    assert_int_equal(records[1].peer.dst_device, 1);
    assert_string_equal(records[2].kernel.name, "some_kernel");
    assert_int_equal(records[2].kernel.grid[0], 4);
    assert_int_equal(records[2].kernel.block[0], 32);
    assert_int_equal(records[3].copy.copy_kind, XCP_COPY_DTOH);
    assert_int_equal(records[3].copy.dst_kind, XCP_MEMORY_PAGEABLE);
    assert_int_equal(records[3].copy.flags, 0);
    for (int i = 1; i < 4; i++) /* one stream: one after the other */
        assert_true(records[3].copy.start >= records[2].kernel.end);
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(q));
}

/* Without peer access a copy between devices is two: to the host, and from it. */
static void staged(void **state)
{
    xcu_deviceptr p = device_memory(N), q;

    OK(cuCtxSetCurrent(contexts[1]));
    q = device_memory(N);
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuMemcpyPeerAsync(q, contexts[1], p, contexts[0], N, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(flush(), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(records[i].copy.kind, SIM_CUPTI_MEMCPY);
        assert_int_equal(records[i].copy.copy_kind, i ? XCP_COPY_HTOD : XCP_COPY_DTOH);
        assert_int_equal(records[i].copy.src_kind, XCP_MEMORY_DEVICE);
        assert_int_equal(records[i].copy.dst_kind, XCP_MEMORY_DEVICE);
        assert_int_equal(records[i].copy.bytes, N);
        assert_int_equal(records[i].copy.device, i);
    }
    assert_int_equal(records[0].copy.correlation, records[1].copy.correlation);
    assert_int_equal(records[0].copy.end, records[1].copy.start);
    assert_true(records[1].copy.end > records[1].copy.start);
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(q));
}

static void graphs(void **state)
{
    char *host = pinned_memory(N);
    xcu_deviceptr p = device_memory(N);
    xcu_stream stream;
    xcu_graph graph;
    xcu_graph_exec exec;

    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuMemcpyHtoDAsync_v2(p, host, N, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_int_equal(flush(), 0); /* captured is not done */
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(flush(), 2);
    assert_int_not_equal(records[0].copy.graph, 0);
    assert_int_equal(records[0].copy.graph, records[1].copy.graph);
    assert_int_equal(records[0].copy.graph_node, records[1].copy.graph_node);
    assert_int_not_equal(records[0].copy.correlation, records[1].copy.correlation);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(host));
}

/* The host writes, the device takes it by prefetch, the host takes it back by touching. */
static void managed(void **state)
{
    struct xcp_counter_config config[] = {{XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_HTOD, 0, 1},
                                          {XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_DTOH, 0, 1},
                                          {XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_CPU_FAULT, 0, 1}};
    size_t bytes = 4 << 20;
    xcu_deviceptr p;

    OK(cuptiActivityConfigureUnifiedMemoryCounter(config, 3));
    OK(cuptiActivityEnable(SIM_CUPTI_COUNTER));
    OK(cuMemAllocManaged(&p, bytes, 1));
    xferscope_simgpu_touch((void *)p, bytes, 1); /* it is there already */
    OK(cuMemPrefetchAsync(p, bytes, 0, NULL));
    OK(cuCtxSynchronize());
    xferscope_simgpu_touch((void *)p, bytes, 0);
    assert_int_equal(flush(), 3);
    assert_int_equal(records[0].counter.counter, XCP_COUNTER_HTOD);
    assert_int_equal(records[0].counter.value, bytes);
    assert_int_equal(records[0].counter.address, p);
    assert_int_equal(records[0].counter.flags, XFT_CAUSE_USER);
    assert_true(records[0].counter.end > records[0].counter.start);
    assert_int_equal(records[1].counter.counter, XCP_COUNTER_CPU_FAULT);
    assert_int_equal(records[1].counter.flags, XFT_ACCESS_READ);
    assert_int_not_equal(records[1].counter.value, 0);
    assert_int_equal(records[2].counter.counter, XCP_COUNTER_DTOH);
    assert_int_equal(records[2].counter.flags, XFT_CAUSE_COHERENCE);
    assert_int_equal(records[2].counter.value, bytes);
    OK(cuptiActivityDisable(SIM_CUPTI_COUNTER));
    OK(cuMemFree_v2(p));
}

static void losses(void **state)
{
    xcu_deviceptr p = device_memory(N);
    size_t dropped = 99;

    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    assert_int_equal(dropped, 0);
    buffer_bytes = 0; /* no memory for records */
    OK(cuMemsetD8_v2(p, 0, N));
    OK(cuMemsetD8_v2(p, 0, N));
    buffer_bytes = 3 * sizeof(struct sim_cupti_memset) + 1; /* full after three */
    for (int i = 0; i < 7; i++)
        OK(cuMemsetD8_v2(p, 0, N));
    assert_int_equal(count, 6); /* two full buffers came by themselves */
    assert_int_equal(flush(), 7);
    buffer_bytes = BUFFER;
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    assert_int_equal(dropped, 2);
    OK(cuptiActivityDisable(SIM_CUPTI_MEMSET));
    OK(cuMemsetD8_v2(p, 0, N));
    assert_int_equal(flush(), 7);
    OK(cuMemFree_v2(p));
}

static uint64_t other_clock(void)
{
    return xferscope_simgpu_now_ns() + 5000000000;
}

static void clocks(void **state)
{
    xcu_deviceptr p = device_memory(N);
    uint64_t now;
    char out[4];

    OK(cuptiActivityRegisterTimestampCallback(other_clock));
    OK(cuptiGetTimestamp(&now));
    assert_int_equal(now, xferscope_simgpu_now_ns() + 5000000000);
    OK(cuMemcpyDtoH_v2(out, p, 4));
    assert_int_equal(flush(), 1);
    assert_true(records[0].copy.start >= now);
    assert_true(records[0].copy.end <= other_clock());
    OK(cuptiUnsubscribe(subscriber));
    OK(cuptiSubscribe(&subscriber, on_call, &seen_count));
    OK(cuMemFree_v2(p));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(one_copy), TEST(other_kinds), TEST(staged), TEST(graphs),
        TEST(managed),  TEST(losses),      TEST(clocks),
    };

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-2socket-4gpu", 1);
    return cmocka_run_group_tests(tests, start, NULL);
}
