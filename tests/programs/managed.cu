/*
 * Managed memory: what the host and the device touch in turn, and what is prefetched. Prints the
 * bytes that have to move each way at least, and the kernels. On the simulated GPU the host tells
 * what it touches (docs/simgpu.md).
 *
 * usage: managed [MIB]      at most 1024
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include <cuda_runtime.h>

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "managed: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

typedef void touch_function(const void *address, size_t bytes, int write);

static touch_function *simulated_touch(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? (touch_function *)dlsym(driver, "xferscope_simgpu_touch") : NULL;
}

static void tell(const void *address, size_t bytes, int write)
{
    touch_function *touch = simulated_touch();
    if (touch)
        touch(address, bytes, write);
}

__global__ void add_one(unsigned *data, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        data[i] += 1;
}

/* What the simulated GPU runs in the kernel's stead. */
extern "C" __attribute__((visibility("default"))) void
xferscope_simgpu_kernel__Z7add_onePjm(void **args, const unsigned *grid, const unsigned *block)
{
    unsigned *data = *(unsigned **)args[0];
    size_t count = *(size_t *)args[1];

    (void)grid;
    (void)block;
    tell(data, count * sizeof *data, 1);
    for (size_t i = 0; i < count; i++)
        data[i] += 1;
}

extern "C" __attribute__((visibility("default"))) void
xferscope_simgpu_kernel_add_one(void **args, const unsigned *grid, const unsigned *block)
{
    xferscope_simgpu_kernel__Z7add_onePjm(args, grid, block);
}

static void write_by_host(unsigned *data, size_t count)
{
    tell(data, count * sizeof *data, 1);
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned)i;
}

static bool read_by_host(const unsigned *data, size_t count, unsigned added)
{
    tell(data, count * sizeof *data, 0);
    for (size_t i = 0; i < count; i++)
        if (data[i] != (unsigned)i + added)
            return false;
    return true;
}

static void run_kernel(unsigned *data, size_t count)
{
    add_one<<<64, 256>>>(data, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static void prefetch(unsigned *data, size_t bytes, bool to_device)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    CHECK(cudaMemPrefetchAsync(data, bytes, where, 0, 0));
#else
    CHECK(cudaMemPrefetchAsync(data, bytes, to_device ? 0 : cudaCpuDeviceId, 0));
#endif
    CHECK(cudaDeviceSynchronize());
}

/* On demand: the device takes it, the host takes it back. */
static bool by_demand(size_t bytes)
{
    unsigned *data;
    size_t count = bytes / sizeof *data;

    CHECK(cudaMallocManaged(&data, bytes));
    write_by_host(data, count);
    run_kernel(data, count);
    bool right = read_by_host(data, count, 1);
    CHECK(cudaFree(data));
    return right;
}

static bool by_prefetch(size_t bytes)
{
    unsigned *data;
    size_t count = bytes / sizeof *data;

    CHECK(cudaMallocManaged(&data, bytes));
    write_by_host(data, count);
    prefetch(data, bytes, true);
    run_kernel(data, count);
    prefetch(data, bytes, false);
    bool right = read_by_host(data, count, 1);
    CHECK(cudaFree(data));
    return right;
}

int main(int argc, char **argv)
{
    long mib = argc > 1 ? atol(argv[1]) : 8;
    size_t bytes = (size_t)mib << 20;

    if (mib < 1 || mib > 1024) {
        fputs("usage: managed [MIB]\n", stderr);
        return 2;
    }
    bool right = by_demand(bytes) && by_prefetch(bytes);
    printf("H2D %zu\nD2H %zu\nkernels 2\n%s\n", 2 * bytes, 2 * bytes, right ? "right" : "wrong");
    return right ? 0 : 1;
}
