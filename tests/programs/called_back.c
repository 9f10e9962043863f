/*
 * The same bytes are sent again and again, each time without a wait: the stream calls a function of
 * the host behind them, and the program goes on when that has been. On the simulated GPU, which
 * calls it at once, what that would have taken is spent on the machine's clock, and WAY_NS more.
 * Says how often, and how long the device took each time as the clock has it.
 */
#include <dlfcn.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

#define BYTES ((size_t)32 << 20)
enum { TIMES = 20, WAY_NS = 4000 };

xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "called_back: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static void post(void *user)
{
    sem_post(user);
}

int main(void)
{
    uint64_t (*now)(void) = NULL;
    void (*spend)(uint64_t) = NULL;
    void *device, *host;
    xcu_stream stream;
    sem_t called;

    sem_init(&called, 0, 0);
    check(cudaMalloc(&device, BYTES));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver) {
        *(void **)&now = dlsym(driver, "xferscope_simgpu_now_ns");
        *(void **)&spend = dlsym(driver, "xferscope_simgpu_spend_ns");
    }
    check(cudaMallocHost(&host, BYTES));
    memset(host, 7, BYTES);
    ((unsigned char *)host)[1] = 8; /* of more than one value */
    check(cudaStreamCreate(&stream));
    check(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, stream));
    uint64_t began = now ? now() : 0;
    check(cudaStreamSynchronize(stream));
    uint64_t took = now ? now() - began : 0;
    for (int i = 0; i < TIMES; i++) {
        check(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, stream));
        check(cudaLaunchHostFunc(stream, post, &called));
        while (sem_wait(&called) != 0) {
        }
        if (spend)
            spend(took + WAY_NS);
    }
    check(cudaStreamSynchronize(stream));
    printf("%d %llu\n", TIMES, (unsigned long long)took);
    check(cudaStreamDestroy(stream));
    check(cudaFreeHost(host));
    check(cudaFree(device));
    return 0;
}
