/*
 * Work of every kind given to streams, on the simulated GPU: launches, events, waits of streams,
 * memsets, functions of the host, questions, captures. A line for each call that a replay of the
 * run needs: what it was, its stream, a detail, and the clock before and after it. Calls that are
 * none (failed, not done yet, behind the first launch and before anything could move) begin with
 * '#'.
 *
 * usage: work                 all of the above
 *        work launches N      one small copy, then N launches of one kernel in a plain loop
 *        work only N          N launches, and nothing that could move data
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/kernel_client.h"

xrt_error cudaStreamCreateWithPriority(xcu_stream *stream, unsigned flags, int priority);
xrt_error cudaStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);
xrt_error cudaStreamQuery(xcu_stream stream);
xrt_error cudaEventQuery(xcu_event event);
xrt_error cudaMemset(void *dst, int value, size_t bytes);
xrt_error cudaMemsetAsync(void *dst, int value, size_t bytes, xcu_stream stream);
xrt_error cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
                            xcu_stream stream);
xrt_error cudaLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xrt_error cudaStreamAddCallback(xcu_stream stream, void (*callback)(xcu_stream, int, void *),
                                void *user, unsigned flags);
xrt_error cudaStreamBeginCapture(xcu_stream stream, int mode);
xrt_error cudaStreamEndCapture(xcu_stream stream, xcu_graph *graph);
xrt_error cudaGraphDestroy(xcu_graph graph);

enum { BYTES = 4096 };

static const char first_kernel, second_kernel;
static uint64_t (*now)(void);
static xcu_stream a, b;

static void expect(xrt_error wanted, xrt_error error, const char *what)
{
    if (error != wanted) {
        fprintf(stderr, "work: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

/* One call and its line. */
#define STEP(wanted, call, format, ...)                                                            \
    do {                                                                                           \
        uint64_t before_ = now();                                                                  \
        xrt_error error_ = (call);                                                                 \
        uint64_t after_ = now();                                                                   \
        expect(wanted, error_, #call);                                                             \
        printf(format " %llu %llu\n", __VA_ARGS__, (unsigned long long)before_,                    \
               (unsigned long long)after_);                                                        \
    } while (0)
#define DONE(call, format, ...) STEP(0, call, format, __VA_ARGS__)

static void on_host(void *user)
{
    ++*(int *)user;
}

static void called_back(xcu_stream stream, int status, void *user)
{
    on_host(user);
}

static void launches(xcu_stream stream, const char *name)
{
    DONE(launch_kernel(&first_kernel, 4, 32, stream), "launch %s first:256", name);
    DONE(launch_kernel(&second_kernel, 1, 64, stream), "launch %s second:128", name);
    STEP(9, launch_kernel(&first_kernel, 0, 32, stream), "# %s no blocks", name);
    DONE(launch_kernel(&first_kernel, 2, 1, stream), "launch %s first:4", name);
}

static void waits(char *device, int *called)
{
    xcu_event event;
    expect(0, cudaEventCreate(&event), "cudaEventCreate");
    DONE(cudaEventRecord(event, a), "record a %p", event);
    DONE(cudaStreamWaitEvent(b, event, 0), "wait b %p", event);
    STEP(600, cudaEventQuery(event), "# query - %p", event);
    STEP(600, cudaStreamQuery(a), "# query %s", "a");
    DONE(cudaMemset(device, 1, BYTES), "set - %d/%d", BYTES, BYTES);
    DONE(cudaMemsetAsync(device, 2, 100, b), "set b %s", "100/100");
    DONE(cudaMemset2DAsync(device, 64, 3, 16, 4, a), "set a %s", "64/16");
    DONE(cudaLaunchHostFunc(a, on_host, called), "host-function a %p", (void *)on_host);
    DONE(cudaStreamAddCallback(b, called_back, called, 0), "host-function b %p",
         (void *)called_back);
    expect(0, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    DONE(cudaEventQuery(event), "query - %p", event);
    DONE(cudaStreamQuery(b), "query b %s", "-");
    DONE(cudaStreamQuery(NULL), "query - %s", "-");
    expect(0, cudaEventDestroy(event), "cudaEventDestroy");
}

static void capture(char *device)
{
    xcu_graph graph;
    expect(0, cudaStreamBeginCapture(a, 0), "cudaStreamBeginCapture");
    DONE(launch_kernel(&second_kernel, 1, 16, a), "launch a captured:second:%d", 32);
    DONE(launch_kernel(&second_kernel, 1, 8, b), "launch b second:%d", 16);
    DONE(cudaMemsetAsync(device, 2, 10, a), "set a captured:%s", "10/10");
    expect(0, cudaStreamEndCapture(a, &graph), "cudaStreamEndCapture");
    expect(0, cudaGraphDestroy(graph), "cudaGraphDestroy");
    DONE(launch_kernel(&second_kernel, 1, 32, a), "launch a second:%d", 64);
}

static int many(long count, int copies)
{
    void *device, *host;
    expect(0, cudaMalloc(&device, BYTES), "cudaMalloc");
    if (copies) {
        expect(0, cudaMallocHost(&host, BYTES), "cudaMallocHost");
        expect(0, cudaMemcpy(device, host, 64, XRT_COPY_H2D), "cudaMemcpy");
    }
    expect(0, cudaStreamCreate(&a), "cudaStreamCreate");
    for (long i = 0; i < count; i++)
        expect(0, launch_kernel(&first_kernel, 4, 32, a), "cudaLaunchKernel");
    expect(0, cudaStreamSynchronize(a), "cudaStreamSynchronize");
    return 0;
}

int main(int argc, char **argv)
{
    void *device, *host;
    int called = 0;
    register_kernel(&first_kernel, (char[]){"first"});
    register_kernel(&second_kernel, (char[]){"second"});
    if (argc == 3)
        return many(atol(argv[2]), strcmp(argv[1], "launches") == 0);
    expect(0, cudaMalloc(&device, BYTES), "cudaMalloc");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&now = driver ? dlsym(driver, "xferscope_simgpu_now_ns") : NULL;
    if (!now) {
        fprintf(stderr, "work: only for the simulated GPU\n");
        return 2;
    }
    DONE(cudaStreamCreateWithPriority(&a, 0, 0), "stream a %d/%d", 0, 0);
    DONE(cudaStreamCreateWithPriority(&b, XCU_STREAM_NON_BLOCKING, -3), "stream b %d/%d", 1, -3);
    printf("is a %p\nis b %p\n", a, b);
    DONE(launch_kernel(&first_kernel, 4, 32, a), "launch a first:%d", 256);
    DONE(launch_kernel(&first_kernel, 4, 32, a), "# launch a %s", "before anything could move");
    expect(0, cudaMallocHost(&host, BYTES), "cudaMallocHost");
    launches(NULL, "-");
    launches(a, "a");
    launches(b, "b");
    waits(device, &called);
    capture(device);
    expect(0, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    DONE(cudaStreamDestroy(b), "stream-end b %s", "-");
    printf("called %d\n", called);
    return 0;
}
