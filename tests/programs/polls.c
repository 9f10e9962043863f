/*
 * Waits by queries on the simulated GPU: with pauses, without, and queries that are none, since
 * something else comes in between. For each query that finds its work done a line: how many before
 * it were made in the same wait, how long ago the first and the last of them began, and whether the
 * thread has slept.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

#define BYTES ((size_t)4 << 20)
#define PAUSE_NS 30000u

xrt_error cudaStreamQuery(xcu_stream stream);
xrt_error cudaEventQuery(xcu_event event);

static uint64_t (*now)(void);
static void (*sleeps)(uint64_t);
static void *host, *device;
static xcu_stream a, b;
static xcu_event event;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "polls: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static void copy(xcu_stream stream)
{
    check(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, stream));
    check(cudaEventRecord(event, stream));
}

static bool is_done(xcu_stream stream)
{
    xrt_error error = stream ? cudaStreamQuery(stream) : cudaEventQuery(event);
    if (error != XCU_ERROR_NOT_READY)
        check(error);
    return error == 0;
}

/* Of the stream, or of the event; pauses take so long. */
static void poll(xcu_stream stream, uint64_t pause_ns)
{
    unsigned queries = 0;
    uint64_t first = now(), last = first, at = first;
    while (!is_done(stream)) {
        queries++;
        last = at;
        sleeps(pause_ns);
        at = now();
    }
    printf("%u %llu %llu\n", queries, (unsigned long long)(queries ? at - first : 0),
           (unsigned long long)(queries ? at - last : 0));
}

/* Not done, something else, done: no wait. */
static void ask(xcu_stream other)
{
    copy(a);
    if (is_done(a))
        exit(1);
    if (other)
        (void)is_done(other);
    else
        check(cudaEventRecord(event, b));
    sleeps(1000000);
    if (!is_done(a))
        exit(1);
    printf("0 0 0\n");
}

int main(void)
{
    int (*begin)(unsigned, unsigned) = NULL;
    check(cudaMalloc(&device, BYTES));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver) {
        *(void **)&now = dlsym(driver, "xferscope_simgpu_now_ns");
        *(void **)&sleeps = dlsym(driver, "xferscope_simgpu_sleep_ns");
        *(void **)&begin = dlsym(driver, "xferscope_simgpu_thread_begin");
    }
    if (!now || !sleeps || !begin || !begin(0, 1))
        return 1;
    check(cudaMallocHost(&host, BYTES));
    check(cudaStreamCreate(&a));
    check(cudaStreamCreate(&b));
    check(cudaEventCreate(&event));
    for (int i = 0; i < 3; i++) {
        copy(a);
        poll(i == 1 ? a : NULL, PAUSE_NS);
    }
    copy(a);
    poll(a, 100);
    copy(a);
    poll(a, 100);
    ask(NULL);
    copy(b);
    ask(b);
    poll(a, PAUSE_NS);
    check(cudaFreeHost(host));
    check(cudaFree(device));
    return 0;
}
