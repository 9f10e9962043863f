/*
 * A program that only launches kernels: what the recorder costs where nothing is transferred.
 *
 * usage: kernel_only empty|busy LAUNCHES [copy|memory]   prints the nanoseconds per launch, from
 * the first launch to the end of the last kernel With "copy" it copies four bytes first, which is
 * when the recorder turns to CUPTI; with "memory" it allocates and frees some between launches, and
 * nothing is transferred. empty: back to back, so that launching is all there is; busy: about 20 us
 * each.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <cuda_runtime.h>

__global__ void empty_kernel(void)
{
}

__global__ void busy_kernel(long long ns)
{
    long long begin, now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

static long long clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void finish(void)
{
    cudaError_t error = cudaDeviceSynchronize();

    if (error != cudaSuccess) {
        fprintf(stderr, "kernel_only: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void launch(bool busy, long count)
{
    for (long i = 0; i < count; i++) {
        if (busy)
            busy_kernel<<<1, 32>>>(20000);
        else
            empty_kernel<<<1, 32>>>();
    }
    finish();
}

static void copy_once(void)
{
    int *device, host = 0;

    cudaMalloc(&device, sizeof host);
    cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice);
    finish();
}

static void allocate_between(long times)
{
    for (long i = 0; i < times; i++) {
        int *device;

        cudaMalloc(&device, 1 << 20);
        empty_kernel<<<1, 32>>>();
        cudaFree(device);
    }
    finish();
}

int main(int argc, char **argv)
{
    long count = argc >= 3 ? atol(argv[2]) : 0;
    bool busy = argc >= 3 && strcmp(argv[1], "busy") == 0;

    if (count < 1 || (!busy && strcmp(argv[1], "empty") != 0)) {
        fputs("usage: kernel_only empty|busy LAUNCHES [copy|memory]\n", stderr);
        return 2;
    }
    if (argc == 4 && strcmp(argv[3], "copy") == 0)
        copy_once();
    if (argc == 4 && strcmp(argv[3], "memory") == 0)
        allocate_between(count);
    launch(busy, 1000); /* contexts, modules and buffers are made */
    long long begin = clock_ns();
    launch(busy, count);
    printf("%.1f\n", (double)(clock_ns() - begin) / (double)count);
    return 0;
}
