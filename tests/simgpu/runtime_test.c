/*
 * The simulated runtime, built twice: against the shared and against the static one.
 */
#include "tests/simgpu/cu.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/runtime/device_props.h"

xrt_error cudaGetLastError(void);
xrt_error cudaPeekAtLastError(void);
const char *cudaGetErrorName(xrt_error error);
const char *cudaGetErrorString(xrt_error error);
xrt_error cudaRuntimeGetVersion(int *version);
xrt_error cudaGetDeviceCount(int *count);
xrt_error cudaSetDevice(int device);
xrt_error cudaGetDevice(int *device);
xrt_error cudaGetDeviceProperties(struct rt_device_props *props, int device);
xrt_error cudaGetDriverEntryPoint(const char *name, void **out, uint64_t flags, int *status);
xrt_error cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                           uint64_t flags, int *status);
xrt_error cudaDeviceSynchronize(void);
xrt_error cudaMalloc(void **out, size_t bytes);
xrt_error cudaFree(void *address);
xrt_error cudaMallocHost(void **out, size_t bytes);
xrt_error cudaFreeHost(void *address);
xrt_error cudaMallocManaged(void **out, size_t bytes, unsigned flags);
xrt_error cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
xrt_error cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, xcu_stream stream);
xrt_error cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                       size_t height, int kind);
xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
                             int kind);
xrt_error cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
                               int kind);
xrt_error cudaMemset(void *dst, int value, size_t bytes);
xrt_error cudaPointerGetAttributes(struct xrt_pointer_attributes *out, const void *address);
xrt_error cudaStreamCreate(xcu_stream *out);
xrt_error cudaStreamQuery(xcu_stream stream);
xrt_error cudaStreamSynchronize(xcu_stream stream);
xrt_error cudaStreamDestroy(xcu_stream stream);
xrt_error cudaLaunchKernel(const void *host, unsigned long long grid_xy, unsigned grid_z,
                           unsigned long long block_xy, unsigned block_z, void **params,
                           size_t shared, xcu_stream stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global);
void __cudaUnregisterFatBinary(void **handle);

static void last_error(void **state)
{
    void *p;

    OK(cudaGetLastError());
    IS(XCU_ERROR_INVALID_VALUE, cudaMemcpy(NULL, "x", 1, XRT_COPY_H2D));
    IS(XCU_ERROR_INVALID_VALUE, cudaPeekAtLastError());
    OK(cudaMalloc(&p, 10)); /* success does not clear it */
    IS(XCU_ERROR_INVALID_VALUE, cudaPeekAtLastError());
    IS(XCU_ERROR_INVALID_VALUE, cudaGetLastError());
    OK(cudaGetLastError());
    IS(XRT_ERROR_INVALID_COPY_DIRECTION, cudaMemcpy(p, "x", 1, 5));
    IS(XRT_ERROR_INVALID_COPY_DIRECTION, cudaGetLastError());
    IS(XCU_ERROR_OUT_OF_MEMORY, cudaMalloc(&p, (size_t)1 << 50));
    assert_null(p);
    IS(XCU_ERROR_OUT_OF_MEMORY, cudaGetLastError());
    assert_string_equal(cudaGetErrorName(XCU_ERROR_OUT_OF_MEMORY), "cudaErrorMemoryAllocation");
    assert_string_equal(cudaGetErrorString(12345), "unrecognized error code");
}

static void devices(void **state)
{
    struct rt_device_props props;
    int count, device, version;

    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, 13000);
    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 4);
    OK(cudaSetDevice(2));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 2);
    IS(XCU_ERROR_INVALID_DEVICE, cudaSetDevice(4));
    OK(cudaGetDevice(&device));
    assert_int_equal(device, 2);
    OK(cudaGetDeviceProperties(&props, 3));
    assert_string_equal(props.name, "Simulated H200");
    assert_int_equal(props.memory_bytes, (size_t)141 << 30);
    assert_int_equal(props.async_engines, 3);
    assert_int_equal(props.major, 9);
    assert_int_equal(props.host_numa, 1);
    OK(cudaSetDevice(0));
    cudaGetLastError();
}

static void entry_points(void **state)
{
    void *legacy = NULL, *own = NULL, *old = NULL;
    int status;

    OK(cudaGetDriverEntryPoint("cuMemcpyHtoDAsync", &legacy, 0, &status));
    OK(cudaGetDriverEntryPoint("cuMemcpyHtoDAsync", &own, 2, &status));
    OK(cudaGetDriverEntryPointByVersion("cuMemPrefetchAsync", &old, 12000, 0, &status));
    assert_non_null(legacy);
    assert_non_null(own);
    assert_non_null(old);
    assert_ptr_not_equal(legacy, own);
    OK(cudaGetDriverEntryPoint("cuNothing", &own, 0, &status));
    assert_null(own);
    assert_int_equal(status, 1);
}

static void copies(void **state)
{
    char in[64], out[64] = {0}, *pinned, *managed;
    struct xrt_pointer_attributes what;
    void *p, *q;

    memset(in, 'i', sizeof(in));
    OK(cudaMalloc(&p, 64));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaMallocManaged((void **)&managed, 64, 1));
    OK(cudaMemcpy(p, in, 64, XRT_COPY_H2D));
    OK(cudaMemcpy(pinned, p, 64, XRT_COPY_DEFAULT));
    OK(cudaMemcpy(managed, pinned, 64, XRT_COPY_DEFAULT));
    OK(cudaMemcpy(out, managed, 64, XRT_COPY_H2H));
    assert_memory_equal(in, out, 64);
    OK(cudaMemset(p, 'x', 64));
    OK(cudaMemcpy2D(out, 8, p, 8, 2, 3, XRT_COPY_D2H));
    assert_memory_equal(out, "xxiiiiiixxiiiiiixxii", 20);
    IS(XRT_ERROR_INVALID_PITCH, cudaMemcpy2D(out, 8, p, 1, 2, 3, XRT_COPY_D2H));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&q, 64));
    OK(cudaMemcpyPeer(q, 1, p, 0, 64));
    OK(cudaMemcpy(out, q, 64, XRT_COPY_D2H));
    assert_int_equal(out[63], 'x');
    OK(cudaPointerGetAttributes(&what, q));
    assert_int_equal(what.type, XRT_MEMORY_DEVICE);
    assert_int_equal(what.device, 1);
    OK(cudaPointerGetAttributes(&what, managed));
    assert_int_equal(what.type, XRT_MEMORY_MANAGED);
    OK(cudaPointerGetAttributes(&what, in));
    assert_int_equal(what.type, XRT_MEMORY_UNREGISTERED);
    assert_ptr_equal(what.host_pointer, in);
    OK(cudaFree(q));
    OK(cudaSetDevice(0));
    OK(cudaFree(p));
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(NULL));
    cudaGetLastError();
}

static char kernel_stub, symbol_stub,
    image[] = "\x7f"
              "ELF image";
static int launches;

/* Parameters' sizes are given, so that the twin may run after the launch returned. */
__attribute__((visibility("default"))) extern const size_t xferscope_simgpu_params_fill[];
const size_t xferscope_simgpu_params_fill[] = {8, 4, 0};
void xferscope_simgpu_kernel_fill(void **params, const unsigned grid[3], const unsigned block[3]);
__attribute__((visibility("default"))) void
xferscope_simgpu_kernel_fill(void **params, const unsigned grid[3], const unsigned block[3])
{
    memset(*(void **)params[0], *(int *)params[1], grid[0] * block[0]);
    launches++;
}

#define DIM_XY(x, y) ((unsigned long long)(y) << 32 | (x))

/* What nvcc's generated code does. */
static void registered(void **state)
{
    void **handle = __cudaRegisterFatBinary(image), *p, *params[2];
    char out[8] = {0};
    int value = 'k';

    __cudaRegisterFunction(handle, &kernel_stub, "fill", "fill", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &symbol_stub, "table", "table", 0, 100, 1, 0);
    OK(cudaMalloc(&p, 8));
    params[0] = &p;
    params[1] = &value;
    OK(cudaLaunchKernel(&kernel_stub, DIM_XY(2, 1), 1, DIM_XY(4, 1), 1, params, 0, NULL));
    OK(cudaMemcpy(out, p, 8, XRT_COPY_D2H));
    assert_memory_equal(out, "kkkkkkkk", 8);
    assert_int_equal(launches, 1);
    IS(XRT_ERROR_INVALID_CONFIGURATION,
       cudaLaunchKernel(&kernel_stub, DIM_XY(0, 1), 1, DIM_XY(4, 1), 1, params, 0, NULL));
    IS(XRT_ERROR_INVALID_DEVICE_FUNCTION,
       cudaLaunchKernel(out, DIM_XY(1, 1), 1, DIM_XY(4, 1), 1, params, 0, NULL));
    OK(cudaMemcpyToSymbol(&symbol_stub, "hello", 5, 95, XRT_COPY_H2D));
    OK(cudaMemcpyFromSymbol(out, &symbol_stub, 2, 98, XRT_COPY_D2H));
    assert_memory_equal(out, "lo", 2);
    IS(XCU_ERROR_INVALID_VALUE, cudaMemcpyToSymbol(&symbol_stub, "hello", 5, 96, XRT_COPY_H2D));
    IS(XRT_ERROR_INVALID_SYMBOL, cudaMemcpyToSymbol(out, "hello", 5, 0, XRT_COPY_H2D));
    OK(cudaFree(p));
    __cudaUnregisterFatBinary(handle);
    cudaGetLastError();
}

static void streams(void **state)
{
    xcu_stream stream;
    void *p, *pinned;

    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&p, 1 << 20));
    OK(cudaMallocHost(&pinned, 1 << 20));
    OK(cudaMemcpyAsync(p, pinned, 1 << 20, XRT_COPY_H2D, stream));
    IS(XCU_ERROR_NOT_READY, cudaStreamQuery(stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
    IS(XCU_ERROR_INVALID_HANDLE, cudaStreamSynchronize(stream));
    OK(cudaFree(p));
    OK(cudaFreeHost(pinned));
    OK(cudaDeviceSynchronize());
    cudaGetLastError();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_error), cmocka_unit_test(devices), cmocka_unit_test(entry_points),
        cmocka_unit_test(copies),     cmocka_unit_test(streams), cmocka_unit_test(registered),
    };

    setenv("XFERSCOPE_SIMGPU_MACHINE", "sim-2socket-4gpu", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
