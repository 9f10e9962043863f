/*
 * The copy functions of the runtime API, with what a recorder has to find: one line per
 * call (direction, transfers, bytes, function) and the sums per direction. The same on every
 * machine. Built twice: with the legacy and with the per-thread default stream.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

enum { N = 65536, SMALL = 4096, WIDTH = 256, HEIGHT = 16, DEPTH = 4, PITCH = 512 };

__device__ unsigned char symbol[SMALL];

/* Names the linker must know, although no kernel reads the symbol. */
__global__ void touch_symbol(unsigned char value)
{
    symbol[threadIdx.x] = value;
}

enum direction { H2D, D2H, D2D, H2H, DIRECTIONS };
static const char *const direction_names[DIRECTIONS] = {"H2D", "D2H", "D2D", "H2H"};
static struct {
    unsigned long transfers, bytes;
} sums[DIRECTIONS];

static unsigned char *host, *back, *pinned;
static unsigned char *device, *device2;
static cudaArray_t array, array2, volume;
static cudaStream_t stream;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "copies_all: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void account(enum direction d, unsigned long transfers, unsigned long bytes,
                    const char *function)
{
    sums[d].transfers += transfers;
    sums[d].bytes += bytes;
    printf("%s %lu %lu %s\n", direction_names[d], transfers, bytes, function);
}

/* One call of a copy function: made, checked, accounted for. */
#define COPY(direction, transfers, bytes, function, ...)                                           \
    do {                                                                                           \
        check(function(__VA_ARGS__), #function);                                                   \
        account(direction, transfers, bytes, #function);                                           \
    } while (0)

static void copy_linear(void)
{
    COPY(H2D, 1, N, cudaMemcpy, device, host, N, cudaMemcpyHostToDevice);
    COPY(D2D, 1, N, cudaMemcpy, device2, device, N, cudaMemcpyDeviceToDevice);
    COPY(D2H, 1, N, cudaMemcpy, back, device2, N, cudaMemcpyDeviceToHost);
    COPY(H2H, 1, N, cudaMemcpy, back, host, N, cudaMemcpyHostToHost);
    COPY(H2D, 1, SMALL, cudaMemcpy, device, pinned, SMALL, cudaMemcpyDefault);
    COPY(H2D, 1, N, cudaMemcpyAsync, device, pinned, N, cudaMemcpyHostToDevice, stream);
    COPY(H2D, 1, SMALL, cudaMemcpyAsync, device, host, SMALL, cudaMemcpyHostToDevice, 0);
    COPY(D2D, 1, N, cudaMemcpyAsync, device2, device, N, cudaMemcpyDeviceToDevice, stream);
    COPY(D2H, 1, N, cudaMemcpyAsync, pinned, device2, N, cudaMemcpyDefault, stream);
}

static void copy_2d(void)
{
    const unsigned long bytes = WIDTH * HEIGHT;

    COPY(H2D, 1, bytes, cudaMemcpy2D, device, PITCH, host, WIDTH, WIDTH, HEIGHT,
         cudaMemcpyHostToDevice);
    COPY(D2H, 1, bytes, cudaMemcpy2D, back, WIDTH, device, PITCH, WIDTH, HEIGHT,
         cudaMemcpyDeviceToHost);
    COPY(H2D, 1, bytes, cudaMemcpy2DAsync, device, PITCH, pinned, WIDTH, WIDTH, HEIGHT,
         cudaMemcpyHostToDevice, stream);
    COPY(D2D, 1, bytes, cudaMemcpy2DAsync, device2, PITCH, device, PITCH, WIDTH, HEIGHT,
         cudaMemcpyDeviceToDevice, stream);
}

static void copy_2d_arrays(void)
{
    const unsigned long bytes = WIDTH * HEIGHT;

    COPY(H2D, 1, bytes, cudaMemcpy2DToArray, array, 0, 0, host, WIDTH, WIDTH, HEIGHT,
         cudaMemcpyHostToDevice);
    COPY(D2D, 1, bytes, cudaMemcpy2DArrayToArray, array2, 0, 0, array, 0, 0, WIDTH, HEIGHT,
         cudaMemcpyDeviceToDevice);
    COPY(D2H, 1, bytes, cudaMemcpy2DFromArray, back, WIDTH, array2, 0, 0, WIDTH, HEIGHT,
         cudaMemcpyDeviceToHost);
    if (memcmp(back, host, bytes) != 0) {
        fputs("copies_all: the arrays returned other bytes\n", stderr);
        exit(1);
    }
    COPY(H2D, 1, bytes, cudaMemcpy2DToArrayAsync, array, 0, 0, pinned, WIDTH, WIDTH, HEIGHT,
         cudaMemcpyHostToDevice, stream);
    COPY(D2H, 1, bytes, cudaMemcpy2DFromArrayAsync, pinned, WIDTH, array, 0, 0, WIDTH, HEIGHT,
         cudaMemcpyDeviceToHost, stream);
}

/* Deprecated, and still what old programs call. cudaMemcpyArrayToArray is missing: how many copies
 * it makes is the runtime's business (docs/interception.md). */
static void copy_arrays(void)
{
    const unsigned long bytes = WIDTH * 2;

    COPY(H2D, 1, bytes, cudaMemcpyToArray, array, 0, 0, host, bytes, cudaMemcpyHostToDevice);
    COPY(D2H, 1, bytes, cudaMemcpyFromArray, back, array, 0, 0, bytes, cudaMemcpyDeviceToHost);
    COPY(H2D, 1, bytes, cudaMemcpyToArrayAsync, array, 0, 0, pinned, bytes, cudaMemcpyHostToDevice,
         stream);
    COPY(D2H, 1, bytes, cudaMemcpyFromArrayAsync, pinned, array, 0, 0, bytes,
         cudaMemcpyDeviceToHost, stream);
}

static void copy_symbols(void)
{
    COPY(H2D, 1, SMALL, cudaMemcpyToSymbol, symbol, host, SMALL, 0, cudaMemcpyHostToDevice);
    COPY(D2H, 1, SMALL, cudaMemcpyFromSymbol, back, symbol, SMALL, 0, cudaMemcpyDeviceToHost);
    if (memcmp(back, host, SMALL) != 0) {
        fputs("copies_all: the symbol returned other bytes\n", stderr);
        exit(1);
    }
    COPY(H2D, 1, SMALL / 2, cudaMemcpyToSymbolAsync, symbol, pinned, SMALL / 2, 16,
         cudaMemcpyHostToDevice, stream);
    COPY(D2H, 1, SMALL / 2, cudaMemcpyFromSymbolAsync, pinned, symbol, SMALL / 2, 16,
         cudaMemcpyDeviceToHost, stream);
}

static void copy_3d(void)
{
    const unsigned long bytes = WIDTH * HEIGHT * DEPTH;
    cudaMemcpy3DParms up = {0}, down = {0};

    up.srcPtr = make_cudaPitchedPtr(host, WIDTH, WIDTH, HEIGHT);
    up.dstPtr = make_cudaPitchedPtr(device, PITCH, WIDTH, HEIGHT);
    up.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    up.kind = cudaMemcpyHostToDevice;
    COPY(H2D, 1, bytes, cudaMemcpy3D, &up);
    up.srcPtr.ptr = pinned;
    up.dstPtr = make_cudaPitchedPtr(NULL, 0, 0, 0);
    up.dstArray = volume;
    COPY(H2D, 1, bytes, cudaMemcpy3DAsync, &up, stream);

    down.srcArray = volume;
    down.dstPtr = make_cudaPitchedPtr(pinned, WIDTH, WIDTH, HEIGHT);
    down.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    down.kind = cudaMemcpyDeviceToHost;
    COPY(D2H, 1, bytes, cudaMemcpy3D, &down);
    COPY(D2H, 1, bytes, cudaMemcpy3DAsync, &down, stream);
}

/* Peer copies whose both ends are device 0: they need no second GPU. */
static void copy_peers(void)
{
    const unsigned long bytes = WIDTH * HEIGHT * DEPTH;
    cudaMemcpy3DPeerParms p = {0};

    COPY(D2D, 1, N, cudaMemcpyPeer, device2, 0, device, 0, N);
    COPY(D2D, 1, N, cudaMemcpyPeerAsync, device2, 0, device, 0, N, stream);
    p.srcPtr = make_cudaPitchedPtr(device, PITCH, WIDTH, HEIGHT);
    p.dstPtr = make_cudaPitchedPtr(device2, PITCH, WIDTH, HEIGHT);
    p.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    COPY(D2D, 1, bytes, cudaMemcpy3DPeer, &p);
    COPY(D2D, 1, bytes, cudaMemcpy3DPeerAsync, &p, stream);
}

#if CUDART_VERSION >= 12080
static cudaError_t call_batch(void **dsts, void **srcs, size_t *sizes, size_t count)
{
    cudaMemcpyAttributes attributes = {};
    size_t first = 0;

    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#if CUDART_VERSION >= 13000
    return cudaMemcpyBatchAsync((void *const *)dsts, (const void *const *)srcs, sizes, count,
                                &attributes, &first, 1, stream);
#else
    size_t failed;

    return cudaMemcpyBatchAsync(dsts, srcs, sizes, count, &attributes, &first, 1, &failed, stream);
#endif
}

static void copy_batch(void)
{
    void *dsts[3] = {device, device + SMALL, device + 2 * SMALL};
    void *srcs[3] = {pinned, pinned + SMALL, pinned + 2 * SMALL};
    size_t sizes[3] = {SMALL, SMALL / 2, SMALL / 4};

    check(call_batch(dsts, srcs, sizes, 3), "cudaMemcpyBatchAsync");
    account(H2D, 3, SMALL + SMALL / 2 + SMALL / 4, "cudaMemcpyBatchAsync");
}

static cudaMemcpy3DOperand operand(void *pointer)
{
    cudaMemcpy3DOperand o = {};

    o.type = cudaMemcpyOperandTypePointer;
    o.op.ptr.ptr = pointer;
    return o;
}

static void copy_3d_batch(void)
{
    cudaMemcpy3DBatchOp ops[2] = {};

    for (int i = 0; i < 2; i++) {
        ops[i].src = operand(device + i * SMALL);
        ops[i].dst = operand(device2 + i * SMALL);
        ops[i].extent = make_cudaExtent(SMALL, 1, 1);
        ops[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
#if CUDART_VERSION >= 13000
    check(cudaMemcpy3DBatchAsync(2, ops, 0, stream), "cudaMemcpy3DBatchAsync");
#else
    size_t failed;

    check(cudaMemcpy3DBatchAsync(2, ops, &failed, 0, stream), "cudaMemcpy3DBatchAsync");
#endif
    account(D2D, 2, 2 * SMALL, "cudaMemcpy3DBatchAsync");
}
#else
static void copy_batch(void)
{
}
static void copy_3d_batch(void)
{
}
#endif

static void allocate(void)
{
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);

    host = (unsigned char *)malloc(N);
    back = (unsigned char *)malloc(N);
    if (!host || !back) {
        fputs("copies_all: out of memory\n", stderr);
        exit(1);
    }
    check(cudaMallocHost((void **)&pinned, N), "cudaMallocHost");
    for (int i = 0; i < N; i++)
        host[i] = pinned[i] = (unsigned char)(i * 7 + i / 256);
    check(cudaMalloc((void **)&device, N), "cudaMalloc");
    check(cudaMalloc((void **)&device2, N), "cudaMalloc");
    check(cudaMallocArray(&array, &bytes, WIDTH, HEIGHT), "cudaMallocArray");
    check(cudaMallocArray(&array2, &bytes, WIDTH, HEIGHT), "cudaMallocArray");
    check(cudaMalloc3DArray(&volume, &bytes, make_cudaExtent(WIDTH, HEIGHT, DEPTH)),
          "cudaMalloc3DArray");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
}

static void verify(void)
{
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    COPY(H2D, 1, N, cudaMemcpy, device, host, N, cudaMemcpyHostToDevice);
    COPY(D2H, 1, N, cudaMemcpy, back, device, N, cudaMemcpyDeviceToHost);
    if (memcmp(back, host, N) != 0) {
        fputs("copies_all: the device returned other bytes\n", stderr);
        exit(1);
    }
}

static void release(void)
{
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFreeArray(array), "cudaFreeArray");
    check(cudaFreeArray(array2), "cudaFreeArray");
    check(cudaFreeArray(volume), "cudaFreeArray");
    check(cudaFree(device), "cudaFree");
    check(cudaFree(device2), "cudaFree");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    free(host);
    free(back);
}

int main(void)
{
    allocate();
    copy_linear();
    copy_2d();
    copy_2d_arrays();
    copy_arrays();
    copy_symbols();
    copy_3d();
    copy_peers();
    copy_batch();
    copy_3d_batch();
    verify();
    release();
    for (int d = 0; d < DIRECTIONS; d++)
        printf("total %s %lu %lu\n", direction_names[d], sums[d].transfers, sums[d].bytes);
    return 0;
}
