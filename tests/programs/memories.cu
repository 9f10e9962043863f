/*
 * Copies from and to every kind of memory that is not simply cudaMalloc's, with what a recorder
 * has to find: one line per call (direction, transfers, bytes, kind of memory).
 *
 * usage: memories kinds | managed | pools | vmm
 * kinds    pageable, pinned, write-combined, mapped and registered host memory
 * managed  managed memory that lies on the host and on the device
 * pools    cudaMallocAsync, a pool of its own
 * vmm      memory mapped with cuMemMap, two pieces in one range
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cuda_runtime.h>

enum { N = 1 << 20 };

static unsigned char *device, *host;
static cudaStream_t stream;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "memories: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void copy(const char *direction, void *dst, const void *src, size_t bytes, const char *what)
{
    check(cudaMemcpy(dst, src, bytes, cudaMemcpyDefault), what);
    printf("%s 1 %zu %s\n", direction, bytes, what);
}

static void copy_async(const char *direction, void *dst, const void *src, size_t bytes,
                       const char *what)
{
    check(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream), what);
    printf("%s 1 %zu %s\n", direction, bytes, what);
}

/* There and back, synchronously and not; the bytes must have survived. */
static void there_and_back(unsigned char *memory, const char *what)
{
    memset(memory, 7, N);
    copy("H2D", device, memory, N, what);
    memset(memory, 0, N);
    copy("D2H", memory, device, N, what);
    copy_async("H2D", device, memory, N / 2, what);
    copy_async("D2H", memory, device, N / 4, what);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (memory[0] != 7 || memory[N - 1] != 7) {
        fprintf(stderr, "memories: %s: other bytes came back\n", what);
        exit(1);
    }
}

static void host_kinds(void)
{
    unsigned char *memory;

    there_and_back(host, "pageable");
    check(cudaHostRegister(host, N, cudaHostRegisterDefault), "cudaHostRegister");
    there_and_back(host, "registered");
    check(cudaHostUnregister(host), "cudaHostUnregister");
    there_and_back(host, "pageable again");
    check(cudaMallocHost((void **)&memory, N), "cudaMallocHost");
    there_and_back(memory, "pinned");
    check(cudaFreeHost(memory), "cudaFreeHost");
    check(cudaHostAlloc((void **)&memory, N, cudaHostAllocWriteCombined), "cudaHostAlloc");
    there_and_back(memory, "write-combined");
    check(cudaFreeHost(memory), "cudaFreeHost");
    check(cudaHostAlloc((void **)&memory, N, cudaHostAllocMapped), "cudaHostAlloc");
    there_and_back(memory, "mapped");
    check(cudaFreeHost(memory), "cudaFreeHost");
}

/* Managed memory counts as the device's, wherever its pages lie and whatever the kind says. */
static void copy_managed(const char *direction, void *dst, const void *src,
                         enum cudaMemcpyKind kind)
{
    check(cudaMemcpy(dst, src, N, kind), "managed memory");
    printf("%s 1 %d managed memory, kind %d\n", direction, N, (int)kind);
}

static void managed(void)
{
    unsigned char *memory, *other;

    check(cudaMallocManaged((void **)&memory, N, cudaMemAttachGlobal), "cudaMallocManaged");
    check(cudaMallocManaged((void **)&other, N, cudaMemAttachGlobal), "cudaMallocManaged");
    memset(memory, 1, N); /* its pages are on the host now */
    copy_managed("D2D", device, memory, cudaMemcpyHostToDevice);
    check(cudaMemset(memory, 2, N), "cudaMemset"); /* and now on the device */
    copy_managed("H2D", memory, host, cudaMemcpyHostToDevice);
    copy_managed("D2H", host, memory, cudaMemcpyDeviceToHost);
    copy_managed("D2D", device, memory, cudaMemcpyDeviceToDevice);
    memset(other, 1, N);
    copy_managed("D2D", memory, other, cudaMemcpyHostToDevice);
    copy_managed("D2D", other, memory, cudaMemcpyDefault);
    copy_managed("H2D", other, host, cudaMemcpyDefault);
    check(cudaFree(memory), "cudaFree");
    check(cudaFree(other), "cudaFree");
}

static void pools(void)
{
    cudaMemPoolProps properties = {};
    cudaMemPool_t pool;
    void *memory, *other;

    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
    check(cudaMallocAsync(&memory, N, stream), "cudaMallocAsync");
    check(cudaMallocFromPoolAsync(&other, N, pool, stream), "cudaMallocFromPoolAsync");
    copy_async("H2D", memory, host, N, "to cudaMallocAsync's");
    copy_async("D2D", other, memory, N, "to a pool's");
    copy_async("D2H", host, other, N / 2, "from a pool's");
    check(cudaFreeAsync(other, stream), "cudaFreeAsync");
    check(cudaFreeAsync(memory, stream), "cudaFreeAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
}

/* ---- cuMemMap: the driver's functions, found through the runtime as libraries do ------------ */

static void *entry(const char *name)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;

    check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
    return found;
}

static void check_driver(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "memories: %s: %d\n", what, (int)result);
        exit(1);
    }
}
#define DRIVER(name, ...) check_driver(((decltype(&name))entry(#name))(__VA_ARGS__), #name)

static void vmm(void)
{
    CUmemAllocationProp properties = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle piece[2];
    CUdeviceptr range;
    size_t size = 0;

    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemGetAllocationGranularity, &size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    DRIVER(cuMemAddressReserve, &range, 2 * size, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        DRIVER(cuMemCreate, &piece[i], size, &properties, 0);
        DRIVER(cuMemMap, range + i * size, size, 0, piece[i], 0);
    }
    DRIVER(cuMemSetAccess, range, 2 * size, &access, 1);
    unsigned char *memory = (unsigned char *)range, *seam = memory + size - N / 2;
    copy("H2D", memory, host, N, "to mapped memory");
    copy("D2D", seam, memory, N, "across the seam of two pieces");
    copy_async("D2D", device, seam, N, "from across the seam");
    copy_async("D2H", host, memory + size, N / 2, "from the second piece");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    DRIVER(cuMemUnmap, range, 2 * size);
    for (int i = 0; i < 2; i++)
        DRIVER(cuMemRelease, piece[i]);
    DRIVER(cuMemAddressFree, range, 2 * size);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"kinds", host_kinds}, {"managed", managed}, {"pools", pools}, {"vmm", vmm}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[1], parts[i].name) != 0)
            continue;
        host = (unsigned char *)malloc(N);
        if (!host)
            return 1;
        memset(host, 3, N);
        check(cudaMalloc((void **)&device, N), "cudaMalloc");
        check(cudaStreamCreate(&stream), "cudaStreamCreate");
        parts[i].run();
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        check(cudaFree(device), "cudaFree");
        free(host);
        return 0;
    }
    fputs("usage: memories kinds|managed|pools|vmm\n", stderr);
    return 2;
}
