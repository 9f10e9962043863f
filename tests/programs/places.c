/*
 * Copies whose time depends on where memory lies and what goes on side by side, on the simulated
 * GPU. Prints how long the work took, by the simulated machine's clock.
 *
 * usage: places up GPU        copies of page-locked memory to a GPU, waited for
 *        places pair A B      copies from GPU A to GPU B, waited for
 *        places each N       a copy to each of N GPUs and back, given to it and waited for
 *        places steps N       steps of copy, kernel and copy back, taking turns in N streams
 *        places ahead N       the same, each copy before the one back of the step before
 *        places ways N        copies to the GPU and from it, independent of each other, in 1 stream
 *                             or 2
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/kernel_client.h"

xrt_error cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes);
xrt_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);

enum { BYTES = 16 << 20, TIMES = 20, MOST_STREAMS = 8, NONBLOCKING = 1, TO_DEVICE = 1, TO_HOST };

/* What the kernel is given: the compiler's code would tell. */
__attribute__((visibility("default"))) extern const size_t xferscope_simgpu_params_work[];
const size_t xferscope_simgpu_params_work[] = {8, 8, 0};
static const char work;

xrt_error cudaStreamCreateWithFlags(xcu_stream *stream, unsigned flags);

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "places: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

static void *on_host(void)
{
    void *memory;
    CHECK(cudaMallocHost(&memory, BYTES));
    return memory;
}

static void *on_device(int gpu)
{
    void *memory;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&memory, BYTES));
    return memory;
}

static uint64_t now(void)
{
    static uint64_t (*clock)(void);
    void *driver = clock ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver)
        *(void **)&clock = dlsym(driver, "xferscope_simgpu_now_ns");
    if (!clock) {
        fprintf(stderr, "places: only for the simulated GPU\n");
        exit(2);
    }
    return clock();
}

/* ---- where ----------------------------------------------------------------------------------- */

static uint64_t up(int gpu)
{
    void *device = on_device(gpu), *host = on_host();
    uint64_t start = now();
    for (int i = 0; i < TIMES; i++)
        CHECK(cudaMemcpy(device, host, BYTES, TO_DEVICE));
    return now() - start;
}

static uint64_t pair(int a, int b)
{
    void *from = on_device(a), *to = on_device(b);
    CHECK(cudaDeviceEnablePeerAccess(a, 0));
    CHECK(cudaSetDevice(a));
    CHECK(cudaDeviceEnablePeerAccess(b, 0));
    uint64_t start = now();
    for (int i = 0; i < TIMES; i++) {
        CHECK(cudaMemcpyPeer(to, b, from, a, BYTES));
        CHECK(cudaDeviceSynchronize());
    }
    return now() - start;
}

static uint64_t each(int gpus)
{
    uint64_t start = 0;
    for (int gpu = 0; gpu < gpus; gpu++) {
        void *device = on_device(gpu), *host = on_host();
        xcu_stream stream;
        start = start ? start : now();
        CHECK(cudaStreamCreateWithFlags(&stream, NONBLOCKING));
        CHECK(cudaMemcpyAsync(device, host, BYTES, TO_DEVICE, stream));
        CHECK(cudaMemcpyAsync(host, device, BYTES / 2, TO_HOST, stream));
        CHECK(cudaDeviceSynchronize());
    }
    return now() - start;
}

/* ---- when ------------------------------------------------------------------------------------ */

/* The copy back is given to its stream before the next step's copy, or behind it. */
static uint64_t steps(int streams, int ahead)
{
    void *in[MOST_STREAMS], *out[MOST_STREAMS], *to[MOST_STREAMS], *from[MOST_STREAMS];
    xcu_stream stream[MOST_STREAMS];
    register_kernel(&work, (char[]){"work"});
    for (int i = 0; i < streams; i++) {
        in[i] = on_host();
        out[i] = on_host();
        to[i] = on_device(0);
        from[i] = on_device(0);
        CHECK(cudaStreamCreateWithFlags(&stream[i], NONBLOCKING));
    }
    uint64_t start = now();
    for (int i = 0; i < TIMES + ahead; i++) {
        int s = i % streams, back = (i - ahead + streams) % streams;
        void *given[] = {&to[s], &from[s]};
        if (i < TIMES)
            CHECK(cudaMemcpyAsync(to[s], in[s], BYTES, TO_DEVICE, stream[s]));
        if (i < TIMES)
            CHECK(cudaLaunchKernel(&work, 1ull << 32 | 64, 1, 1ull << 32 | 256, 1, given, 0,
                                   stream[s]));
        if (i >= ahead)
            CHECK(cudaMemcpyAsync(out[back], from[back], BYTES, TO_HOST, stream[back]));
    }
    CHECK(cudaDeviceSynchronize());
    return now() - start;
}

static uint64_t ways(int streams)
{
    void *in = on_host(), *out = on_host(), *to = on_device(0), *from = on_device(0);
    xcu_stream stream[2];
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], NONBLOCKING));
    uint64_t start = now();
    for (int i = 0; i < TIMES; i++) {
        CHECK(cudaMemcpyAsync(to, in, BYTES, TO_DEVICE, stream[0]));
        CHECK(cudaMemcpyAsync(out, from, BYTES, TO_HOST, stream[streams > 1]));
    }
    CHECK(cudaDeviceSynchronize());
    return now() - start;
}

int main(int argc, char **argv)
{
    uint64_t ns;
    int first = argc > 2 ? atoi(argv[2]) : -1, second = argc > 3 ? atoi(argv[3]) : -1;
    if (argc == 3 && strcmp(argv[1], "up") == 0)
        ns = up(first);
    else if (argc == 4 && strcmp(argv[1], "pair") == 0)
        ns = pair(first, second);
    else if (argc == 3 && strcmp(argv[1], "each") == 0)
        ns = each(first);
    else if (argc == 3 && strcmp(argv[1], "steps") == 0 && first > 0 && first <= MOST_STREAMS)
        ns = steps(first, 0);
    else if (argc == 3 && strcmp(argv[1], "ahead") == 0 && first > 1 && first <= MOST_STREAMS)
        ns = steps(first, 1);
    else if (argc == 3 && strcmp(argv[1], "ways") == 0)
        ns = ways(first);
    else
        return 2;
    printf("took %llu\n", (unsigned long long)ns);
    return 0;
}
