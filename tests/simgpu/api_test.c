/*
 * What the simulated driver's functions do, and what they refuse.
 */
#include "tests/simgpu/cu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 16 };

static xcu_context contexts[4];

static int start(void **state)
{
    int count = 0;

    IS(XCU_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++)
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    return 0;
}

static int on_device_0(void **state)
{
    return cuCtxSetCurrent(contexts[0]);
}

static void devices(void **state)
{
    struct xcu_uuid a, b;
    char text[64];
    int value, device;
    size_t bytes;

    OK(cuDeviceGetName(text, sizeof(text), 3));
    assert_string_equal(text, "Simulated H200");
    OK(cuDeviceGetUuid_v2(&a, 0));
    OK(cuDeviceGetUuid_v2(&b, 1));
    assert_int_equal(a.bytes[0], 0x51);
    assert_int_equal(b.bytes[15], 1);
    OK(cuDeviceGetPCIBusId(text, sizeof(text), 2));
    OK(cuDeviceGetByPCIBusId(&device, text));
    assert_int_equal(device, 2);
    OK(cuDeviceGetAttribute(&value, 40, 0)); /* copy engines */
    assert_int_equal(value, 3);
    OK(cuDeviceGetAttribute(&value, 134, 2)); /* host NUMA node */
    assert_int_equal(value, 1);
    OK(cuDeviceTotalMem_v2(&bytes, 0));
    assert_int_equal(bytes, (size_t)141 << 30);
    IS(XCU_ERROR_INVALID_DEVICE, cuDeviceGetName(text, sizeof(text), 4));
    IS(XCU_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    IS(XCU_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, 0, 0));
}

static void context_stack(void **state)
{
    xcu_context mine, seen;
    xcu_deviceptr p;
    int device;

    OK(cuCtxCreate_v2(&mine, 0, 1));
    OK(cuCtxGetCurrent(&seen));
    assert_ptr_equal(seen, mine);
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuCtxPushCurrent_v2(contexts[2]));
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 2);
    OK(cuCtxPopCurrent_v2(&seen));
    assert_ptr_equal(seen, contexts[2]);
    p = device_memory(100);
    OK(cuCtxDestroy_v2(mine));
    IS(XCU_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(mine));
    OK(cuCtxSetCurrent(contexts[0]));
    IS(XCU_ERROR_INVALID_VALUE, cuMemFree_v2(p)); /* went with its context */
    OK(cuCtxSetCurrent(NULL));
    IS(XCU_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&p, 1));
}

static void memory_errors(void **state)
{
    xcu_deviceptr p = device_memory(1000), q;
    char host[2000] = {1};
    size_t before, after, total;

    IS(XCU_ERROR_INVALID_VALUE, cuMemAlloc_v2(&q, 0));
    IS(XCU_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&q, (size_t)142 << 30));
    OK(cuMemcpyHtoD_v2(p, host, 1000));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, host, 1001));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p + 999, host, 2));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2((xcu_deviceptr)host, host, 10));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2((void *)p, p, 10));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, NULL, 10));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpy(p + 2000, p, 10));
    OK(cuMemcpyHtoD_v2(p, NULL, 0));
    OK(cuMemGetInfo_v2(&before, &total));
    OK(cuMemFree_v2(p));
    OK(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(after - before, 1000);
    IS(XCU_ERROR_INVALID_VALUE, cuMemFree_v2(p));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, host, 10));
    IS(XCU_ERROR_INVALID_VALUE, cuMemFree_v2((xcu_deviceptr)host));
    IS(XCU_ERROR_INVALID_VALUE, cuMemFreeHost(host));
    OK(cuMemFree_v2(0));
}

static void many_allocations(void **state)
{
    enum { COUNT = 3000 };
    static xcu_deviceptr p[COUNT];
    unsigned char first, last;

    for (size_t i = 0; i < COUNT; i++) {
        p[i] = device_memory(1 + i * 7);
        OK(cuMemsetD8_v2(p[i], (unsigned char)i, 1 + i * 7));
    }
    for (size_t i = 0; i < COUNT; i += 2)
        OK(cuMemFree_v2(p[i]));
    for (size_t i = 0; i < COUNT; i += 2) /* into the gaps */
        p[i] = device_memory(1 + i * 7);
    for (size_t i = 1; i < COUNT; i += 2) {
        OK(cuMemcpyDtoH_v2(&first, p[i], 1));
        OK(cuMemcpyDtoH_v2(&last, p[i] + i * 7, 1));
        assert_int_equal(first, i & 0xff);
        assert_int_equal(last, i & 0xff);
    }
    for (size_t i = 0; i < COUNT; i++)
        OK(cuMemFree_v2(p[i]));
}

static void data_moves(void **state)
{
    unsigned char *a = malloc(N), *b = malloc(N);
    xcu_deviceptr p = device_memory(N), q = device_memory(N);

    for (int i = 0; i < N; i++)
        a[i] = (unsigned char)(i * 31 >> 3);
    OK(cuMemcpyHtoD_v2(p, a, N));
    OK(cuMemcpyDtoD_v2(q, p, N));
    OK(cuMemcpyDtoH_v2(b, q, N));
    assert_memory_equal(a, b, N);
    OK(cuMemsetD32_v2(q, 0x01020304, 4));
    OK(cuMemcpy((xcu_deviceptr)b, q, 20));
    assert_memory_equal(b, "\4\3\2\1\4\3\2\1\4\3\2\1\4\3\2\1", 16);
    assert_memory_equal(b + 16, a + 16, 4);
    IS(XCU_ERROR_INVALID_VALUE, cuMemsetD32_v2(q + 2, 0, 1));
    IS(XCU_ERROR_INVALID_VALUE, cuMemsetD8_v2((xcu_deviceptr)a, 0, 1));
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(q));
    free(a);
    free(b);
}

static void rows(void **state)
{
    unsigned char a[64], b[64] = {0};
    struct xcu_memcpy2d c = {.src_type = XCU_MEMORY_HOST,
                             .src_host = a,
                             .src_pitch = 8,
                             .src_x = 2,
                             .dst_type = XCU_MEMORY_DEVICE,
                             .width = 3,
                             .height = 4};
    xcu_deviceptr p;
    size_t pitch;

    for (unsigned char i = 0; i < 64; i++)
        a[i] = i;
    OK(cuMemAllocPitch_v2(&p, &pitch, 3, 4, 4));
    assert_int_equal(pitch, 512);
    OK(cuMemsetD2D8_v2(p, pitch, 7, 3, 4));
    c.dst_device = p;
    c.dst_pitch = pitch;
    OK(cuMemcpy2D_v2(&c));
    OK(cuMemcpyDtoH_v2(b, p + pitch, 4)); /* second row: 10, 11, 12, then untouched */
    assert_memory_equal(b, "\12\13\14\0", 4);
    c.dst_pitch = 2;
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c)); /* rows would overlap */
    c.dst_pitch = pitch;
    c.height = 5;
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c));
    c.height = 4;
    c.dst_y = SIZE_MAX / 2;
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c));
    OK(cuMemFree_v2(p));
}

static void layers_and_arrays(void **state)
{
    struct xcu_array_descriptor desc = {4, 3, 2, 0x20, 2, 0}; /* two floats per element */
    float in[4 * 3 * 2 * 2], out[8] = {0};
    struct xcu_memcpy3d c = {.src_type = XCU_MEMORY_HOST,
                             .src_host = in,
                             .src_pitch = 32,
                             .src_height = 3,
                             .dst_type = XCU_MEMORY_ARRAY,
                             .width = 32,
                             .height = 3,
                             .depth = 2};
    xcu_array array;

    for (int i = 0; i < 48; i++)
        in[i] = (float)i;
    OK(cuArray3DCreate_v2(&array, &desc));
    c.dst_array = array;
    OK(cuMemcpy3D_v2(&c));
    c = (struct xcu_memcpy3d){.src_type = XCU_MEMORY_ARRAY,
                              .src_array = array,
                              .src_y = 2,
                              .src_z = 1,
                              .dst_type = XCU_MEMORY_HOST,
                              .dst_host = out,
                              .width = 32,
                              .height = 1,
                              .depth = 1};
    OK(cuMemcpy3D_v2(&c));
    assert_memory_equal(out, in + 40, 32);
    c.src_z = 2;
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&c));
    IS(XCU_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(array, 8, in, 32));
    OK(cuArrayDestroy(array));
    IS(XCU_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

static void batches(void **state)
{
    enum { COUNT = 5 };
    char in[COUNT][16], out[16];
    xcu_deviceptr p = device_memory(COUNT * 16), dsts[COUNT], srcs[COUNT];
    size_t sizes[COUNT], first = 0;
    struct xcu_copy_attributes attributes = {.access_order = 1};
    xcu_stream stream;

    OK(cuStreamCreate(&stream, 0));
    for (int i = 0; i < COUNT; i++) {
        memset(in[i], 'a' + i, 16);
        dsts[i] = p + 16u * (unsigned)i;
        srcs[i] = (xcu_deviceptr)in[i];
        sizes[i] = (size_t)i + 1;
    }
    OK(cuMemsetD8_v2(p, 0, COUNT * 16));
    OK(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, COUNT, &attributes, &first, 1, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(out, dsts[3], 16));
    assert_memory_equal(out, "dddd\0", 5);
    dsts[4] = p + COUNT * 16 - 2;
    IS(XCU_ERROR_INVALID_VALUE,
       cuMemcpyBatchAsync_v2(dsts, srcs, sizes, COUNT, &attributes, &first, 1, stream));
    IS(XCU_ERROR_INVALID_VALUE,
       cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 4, &attributes, &first, 1, NULL));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(p));
}

static void registration(void **state)
{
    char *host = malloc(N);
    unsigned flags, type;

    OK(cuMemHostRegister_v2(host, N, 0));
    IS(XCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(host + 10, 10, 0));
    OK(cuPointerGetAttribute(&type, XCU_PTR_MEMORY_TYPE, (xcu_deviceptr)(host + 5)));
    assert_int_equal(type, XCU_MEMORY_HOST);
    OK(cuMemHostGetFlags(&flags, host));
    IS(XCU_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host + 1));
    IS(XCU_ERROR_INVALID_VALUE, cuMemFreeHost(host));
    OK(cuMemHostUnregister(host));
    IS(XCU_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
    IS(XCU_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, host));
    free(host);
    OK(cuMemAllocHost_v2((void **)&host, N));
    IS(XCU_ERROR_INVALID_VALUE, cuMemHostUnregister(host));
    OK(cuMemFreeHost(host));
}

static void pointers(void **state)
{
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_DEVICE_ORDINAL,
                   XCU_PTR_RANGE_SIZE};
    int type, ordinal, local = 0;
    unsigned char managed;
    size_t size;
    void *data[] = {&type, &managed, &ordinal, &size};
    xcu_deviceptr p, m;

    OK(cuCtxSetCurrent(contexts[3]));
    p = device_memory(500);
    OK(cuMemAllocManaged(&m, 600, 1));
    OK(cuPointerGetAttributes(4, which, data, p + 499));
    assert_int_equal(type, XCU_MEMORY_DEVICE);
    assert_int_equal(managed, 0);
    assert_int_equal(ordinal, 3);
    assert_int_equal(size, 500);
    OK(cuPointerGetAttributes(4, which, data, m));
    assert_int_equal(managed, 1);
    assert_int_equal(size, 600);
    OK(cuPointerGetAttributes(4, which, data, (xcu_deviceptr)&local));
    assert_int_equal(type, 0);
    assert_int_equal(ordinal, -2);
    IS(XCU_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, XCU_PTR_MEMORY_TYPE, p + 500));
    IS(XCU_ERROR_INVALID_VALUE, cuPointerGetAttribute(&size, XCU_PTR_HOST_POINTER, p));
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(m));
}

static void managed_memory(void **state)
{
    enum { PREFERRED = 2, LAST_PREFETCH = 4 };
    xcu_deviceptr m, p = device_memory(100);
    int where;

    IS(XCU_ERROR_INVALID_VALUE, cuMemAllocManaged(&m, 100, 0));
    OK(cuMemAllocManaged(&m, 1 << 20, 1));
    memset((void *)m, 5, 1 << 20); /* the host can use it */
    OK(cuMemRangeGetAttribute(&where, sizeof(where), LAST_PREFETCH, m, 1 << 20));
    assert_int_equal(where, -2);
    OK(cuMemPrefetchAsync(m, 1 << 20, 1, NULL));
    OK(cuMemRangeGetAttribute(&where, sizeof(where), LAST_PREFETCH, m, 1 << 20));
    assert_int_equal(where, 1);
    OK(cuMemAdvise(m, 1 << 20, 3, -1));
    OK(cuMemRangeGetAttribute(&where, sizeof(where), PREFERRED, m, 1 << 20));
    assert_int_equal(where, -1);
    IS(XCU_ERROR_INVALID_VALUE, cuMemPrefetchAsync(m, (1 << 20) + 1, 0, NULL));
    IS(XCU_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(m, 10, 4, NULL));
    IS(XCU_ERROR_INVALID_VALUE, cuMemPrefetchAsync(p, 100, 0, NULL));
    IS(XCU_ERROR_INVALID_VALUE, cuMemAdvise(m, 10, 7, 0));
    OK(cuMemFree_v2(m));
    OK(cuMemFree_v2(p));
}

static void pools_and_mappings(void **state)
{
    struct xcu_alloc_prop prop = {.type = 1, .location = {XCU_LOCATION_DEVICE, 0}};
    size_t size = 4 << 20;
    xcu_vmm_handle handle;
    xcu_deviceptr p;
    xcu_pool pool;
    uint64_t used;

    OK(cuMemAllocAsync(&p, 12345, NULL));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolGetAttribute(pool, 7, &used));
    assert_int_equal(used, 12345);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemPoolGetAttribute(pool, 7, &used));
    assert_int_equal(used, 0);
    IS(XCU_ERROR_INVALID_VALUE, cuMemFreeAsync(p, NULL));

    IS(XCU_ERROR_INVALID_VALUE, cuMemCreate(&handle, 12345, &prop, 0));
    OK(cuMemCreate(&handle, size, &prop, 0));
    OK(cuMemAddressReserve(&p, size, 0, 0, 0));
    IS(XCU_ERROR_INVALID_VALUE, cuMemsetD8_v2(p, 1, size)); /* reserved is not mapped */
    OK(cuMemMap(p, size, 0, handle, 0));
    IS(XCU_ERROR_INVALID_VALUE, cuMemMap(p, size, 0, handle, 0));
    OK(cuMemRelease(handle));
    OK(cuMemsetD8_v2(p, 1, size));
    IS(XCU_ERROR_INVALID_VALUE, cuMemFree_v2(p));
    IS(XCU_ERROR_INVALID_VALUE, cuMemAddressFree(p, size));
    OK(cuMemUnmap(p, size));
    OK(cuMemAddressFree(p, size));
}

static void peers(void **state)
{
    int can;

    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 2));
    assert_int_equal(can, 0);
    OK(cuDeviceCanAccessPeer(&can, 1, 1));
    assert_int_equal(can, 0);
    IS(XCU_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[1]));
    OK(cuCtxEnablePeerAccess(contexts[1], 0));
    IS(XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(contexts[1], 0));
    IS(XCU_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(contexts[2], 0));
    IS(XCU_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(contexts[0], 0));
    OK(cuCtxDisablePeerAccess(contexts[1]));
}

static void handles(void **state)
{
    xcu_stream stream;
    xcu_event event, other;
    float ms;

    OK(cuStreamCreate(&stream, 1));
    IS(XCU_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 2));
    IS(XCU_ERROR_INVALID_HANDLE, cuStreamSynchronize((xcu_stream)&ms));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&other, 2));
    IS(XCU_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, event));
    OK(cuEventRecord(event, stream));
    OK(cuEventRecord(other, stream));
    IS(XCU_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, other)); /* no timing */
    OK(cuEventElapsedTime(&ms, event, event));
    OK(cuStreamDestroy_v2(stream));
    IS(XCU_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(stream));
    OK(cuEventDestroy_v2(event));
    IS(XCU_ERROR_INVALID_HANDLE, cuEventDestroy_v2(event));
    OK(cuEventDestroy_v2(other));
    IS(XCU_ERROR_INVALID_VALUE, cuStreamDestroy_v2(NULL));
}

static void capture(void **state)
{
    char *host = pinned_memory(N);
    xcu_deviceptr p = device_memory(N), q;
    xcu_stream stream;
    xcu_graph graph;
    xcu_graph_exec exec;
    xcu_graph_node node;
    struct xcu_memcpy3d what;
    size_t count = 1;
    int status, type;

    OK(cuStreamCreate(&stream, 1));
    IS(XCU_ERROR_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, 0));
    OK(cuMemsetD8_v2(p, 9, N));
    memset(host, 1, N);
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, XCU_CAPTURE_ACTIVE);
    OK(cuMemcpyHtoDAsync_v2(p, host, N, stream));
    OK(cuStreamEndCapture(stream, &graph));
    assert_int_equal(*(unsigned char *)p, 9); /* nothing has moved */
    OK(cuGraphGetNodes(graph, &node, &count));
    assert_int_equal(count, 1);
    OK(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, XCU_NODE_MEMCPY);
    OK(cuGraphMemcpyNodeGetParams(node, &what));
    assert_int_equal(what.width, N);
    assert_ptr_equal(what.src_host, host);
    assert_int_equal(what.dst_device, p);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    memset(host, 2, N);
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*(unsigned char *)p, 2);
    OK(cuGraphExecDestroy(exec));
    IS(XCU_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));

    for (int mode = 0; mode < 3; mode++) { /* as an H200 did, from another thread as well */
        OK(cuStreamBeginCapture_v2(stream, mode));
        IS(XCU_ERROR_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
        IS(XCU_ERROR_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
        OK(cuCtxSynchronize());
    }

    OK(cuStreamBeginCapture_v2(stream, 0));
    IS(XCU_ERROR_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&q, 10));
    OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, XCU_CAPTURE_INVALIDATED);
    IS(XCU_ERROR_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    assert_null(graph);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(host));
}

static int calls;

static void host_function(void *user)
{
    int count;

    calls += *(int *)user;
    IS(XCU_ERROR_NOT_PERMITTED, cuDeviceGetCount(&count));
}

static void host_functions(void **state)
{
    int three = 3;

    OK(cuLaunchHostFunc(NULL, host_function, &three));
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(calls, 3);
    IS(XCU_ERROR_INVALID_VALUE, cuLaunchHostFunc(NULL, NULL, NULL));
}

static const char ptx[] = ".version 8.0\n.target sm_90\n.visible .entry known() { ret; }\n";

static void modules(void **state)
{
    void *module, *function;

    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&function, module, "known"));
    IS(XCU_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "unheard_of"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    IS(XCU_ERROR_INVALID_VALUE, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    IS(XCU_ERROR_INVALID_HANDLE, cuLaunchKernel(module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuModuleUnload(module));
    IS(XCU_ERROR_INVALID_HANDLE, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void *work(void *arg)
{
    char a[256], b[256];
    xcu_deviceptr p;

    memset(a, (int)(intptr_t)arg, sizeof(a));
    OK(cuCtxSetCurrent(contexts[(intptr_t)arg % 4]));
    for (int i = 0; i < 500; i++) {
        p = device_memory(sizeof(a));
        OK(cuMemcpyHtoDAsync_v2_ptsz(p, a, sizeof(a), NULL));
        OK(cuMemcpyDtoH_v2(b, p, sizeof(b)));
        assert_memory_equal(a, b, sizeof(a));
        OK(cuMemFree_v2(p));
    }
    return NULL;
}

static void threads(void **state)
{
    pthread_t t[4];

    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void forks(void **state)
{
    int status, count;
    pid_t child = fork();

    if (!child)
        _exit(cuDeviceGetCount(&count) == XCU_ERROR_NOT_INITIALIZED &&
                      cuInit(0) == XCU_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, on_device_0)
    const struct CMUnitTest tests[] = {
        TEST(devices),       TEST(context_stack),
        TEST(memory_errors), TEST(many_allocations),
        TEST(data_moves),    TEST(rows),
        TEST(batches),       TEST(layers_and_arrays),
        TEST(registration),  TEST(pointers),
        TEST(peers),         TEST(managed_memory),
        TEST(handles),       TEST(pools_and_mappings),
        TEST(capture),       TEST(host_functions),
        TEST(modules),       TEST(threads),
        TEST(forks),
    };

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-2socket-4gpu", 1);
    return cmocka_run_group_tests(tests, start, NULL);
}
