/*
 * Copies between two GPUs, in every way the runtime has, without and with peer access. One line per
 * call (direction, transfers, bytes, function).
 *
 * usage: peers      exits with 77 where there are not two GPUs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

enum { N = 1 << 20, WIDTH = 256, HEIGHT = 16, DEPTH = 4 };

static unsigned char *at[2], *host;
static cudaStream_t stream;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "peers: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

#define COPY(direction, bytes, function, ...)                                                      \
    do {                                                                                           \
        check(function(__VA_ARGS__), #function);                                                   \
        printf("%s 1 %lu %s\n", direction, (unsigned long)(bytes), #function);                     \
    } while (0)

static void copy_all(void)
{
    cudaMemcpy3DPeerParms p = {};

    COPY("H2D", N, cudaMemcpy, at[0], host, N, cudaMemcpyDefault);
    COPY("P2P", N, cudaMemcpyPeer, at[1], 1, at[0], 0, N);
    COPY("P2P", N / 2, cudaMemcpyPeerAsync, at[0], 0, at[1], 1, N / 2, stream);
    COPY("P2P", N / 4, cudaMemcpy, at[1], at[0], N / 4, cudaMemcpyDefault);
    COPY("P2P", N / 8, cudaMemcpyAsync, at[1], at[0], N / 8, cudaMemcpyDeviceToDevice, stream);
    p.srcDevice = 1;
    p.srcPtr = make_cudaPitchedPtr(at[1], WIDTH, WIDTH, HEIGHT);
    p.dstDevice = 0;
    p.dstPtr = make_cudaPitchedPtr(at[0], 2 * WIDTH, WIDTH, HEIGHT);
    p.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    COPY("P2P", WIDTH * HEIGHT * DEPTH, cudaMemcpy3DPeer, &p);
    COPY("P2P", WIDTH * HEIGHT * DEPTH, cudaMemcpy3DPeerAsync, &p, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    COPY("D2H", N, cudaMemcpy, host, at[1], N, cudaMemcpyDefault);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static void set_access(bool on)
{
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(on ? cudaDeviceEnablePeerAccess(1 - device, 0)
                 : cudaDeviceDisablePeerAccess(1 - device),
              "peer access");
    }
    check(cudaSetDevice(0), "cudaSetDevice");
}

int main(void)
{
    int count = 0, possible = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2)
        return 77;
    host = (unsigned char *)malloc(N);
    if (!host)
        return 1;
    memset(host, 6, N);
    for (int device = 1; device >= 0; device--) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaMalloc((void **)&at[device], N), "cudaMalloc");
    }
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    copy_all();
    check(cudaDeviceCanAccessPeer(&possible, 0, 1), "cudaDeviceCanAccessPeer");
    if (possible) {
        set_access(true);
        copy_all();
        set_access(false);
        copy_all();
    }
    printf("peer access %s\n", possible ? "on and off again" : "not possible");
    return 0;
}
