/*
 * The forms of launches, memsets and questions that the runtime does not use, through the driver
 * API of the simulated GPU, per-thread streams included: lines as those of work.c. With two
 * devices, a cooperative launch on both. The functions are taken by dlsym.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

typedef unsigned u;
#define LAUNCH (void *, u, u, u, u, u, u, u, xcu_stream, void **, void **)
#define COOPERATIVE (void *, u, u, u, u, u, u, u, xcu_stream, void **)
#define CALLS(X)                                                                                   \
    X(cuInit, (u))                                                                                 \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuDevicePrimaryCtxRelease_v2, (xcu_device))                                                  \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemHostAlloc, (void **, size_t, u))                                                        \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuModuleUnload, (void *))                                                                    \
    X(cuStreamCreate, (xcu_stream *, u))                                                           \
    X(cuStreamDestroy, (xcu_stream))                                                               \
    X(cuStreamQuery_ptsz, (xcu_stream))                                                            \
    X(cuEventCreate, (xcu_event *, u))                                                             \
    X(cuEventRecordWithFlags, (xcu_event, xcu_stream, u))                                          \
    X(cuEventRecord_ptsz, (xcu_event, xcu_stream))                                                 \
    X(cuStreamWaitEvent_ptsz, (xcu_stream, xcu_event, u))                                          \
    X(cuLaunchKernel, LAUNCH)                                                                      \
    X(cuLaunchKernel_ptsz, LAUNCH)                                                                 \
    X(cuLaunchCooperativeKernel, COOPERATIVE)                                                      \
    X(cuLaunchCooperativeKernel_ptsz, COOPERATIVE)                                                 \
    X(cuLaunchKernelEx, (const struct xcu_launch_config *, void *, void **, void **))              \
    X(cuLaunchKernelEx_ptsz, (const struct xcu_launch_config *, void *, void **, void **))         \
    X(cuLaunchCooperativeKernelMultiDevice, (struct xcu_launch *, u, u))                           \
    X(cuLaunchHostFunc_ptsz, (xcu_stream, void (*)(void *), void *))                               \
    FILLS(X)

#include "tests/programs/calls_by_name.h"

enum { BYTES = 4096 };

static uint64_t (*now)(void);
static xcu_stream a;
static void *kernel;

static void resolve(void)
{
    if (!(*(void **)&now = dlsym(find_calls(), "xferscope_simgpu_now_ns")))
        fail("only for the simulated GPU", 2);
}

/* One call, and its line. */
#define DONE(line, name, ...)                                                                      \
    do {                                                                                           \
        uint64_t before_ = now();                                                                  \
        CALL(name, __VA_ARGS__);                                                                   \
        printf("%s %llu %llu %s\n", line, (unsigned long long)before_, (unsigned long long)now(),  \
               #name);                                                                             \
    } while (0)

static void launches(void)
{
    struct xcu_launch_config config = {.grid = {2, 3, 4}, .block = {8, 2, 1}, .stream = a};
    DONE("launch a step:24", cuLaunchKernel, kernel, 1, 2, 3, 1, 2, 2, 0, a, NULL, NULL);
    DONE("launch - step:24", cuLaunchKernel_ptsz, kernel, 1, 2, 3, 1, 2, 2, 0, NULL, NULL, NULL);
    DONE("launch a step:8", cuLaunchCooperativeKernel, kernel, 2, 1, 1, 4, 1, 1, 0, a, NULL);
    DONE("launch a step:8", cuLaunchCooperativeKernel_ptsz, kernel, 2, 1, 1, 4, 1, 1, 0, a, NULL);
    DONE("launch a step:384", cuLaunchKernelEx, &config, kernel, NULL, NULL);
    DONE("launch a step:384", cuLaunchKernelEx_ptsz, &config, kernel, NULL, NULL);
}

#define SET_ALL(row, rows, bytes)                                                                  \
    do {                                                                                           \
        char line_[64], block_[64], own_[64], own_block_[64];                                      \
        snprintf(line_, sizeof line_, "set - %d/%d", 16 * (bytes), 16 * (bytes));                  \
        snprintf(block_, sizeof block_, "set - %d/%d", 12 * (bytes), 4 * (bytes));                 \
        snprintf(own_, sizeof own_, "set a %d/%d", 16 * (bytes), 16 * (bytes));                    \
        snprintf(own_block_, sizeof own_block_, "set a %d/%d", 12 * (bytes), 4 * (bytes));         \
        DONE(line_, cuMemset##row##_v2, memory, 1, 16);                                            \
        DONE(line_, cuMemset##row##_v2_ptds, memory, 1, 16);                                       \
        DONE(own_, cuMemset##row##Async, memory, 1, 16, a);                                        \
        DONE(own_, cuMemset##row##Async_ptsz, memory, 1, 16, a);                                   \
        DONE(block_, cuMemset##rows##_v2, memory, 64, 1, 4, 3);                                    \
        DONE(block_, cuMemset##rows##_v2_ptds, memory, 64, 1, 4, 3);                               \
        DONE(own_block_, cuMemset##rows##Async, memory, 64, 1, 4, 3, a);                           \
        DONE(own_block_, cuMemset##rows##Async_ptsz, memory, 64, 1, 4, 3, a);                      \
    } while (0)

static void on_host(void *user)
{
    ++*(int *)user;
}

static void others(xcu_deviceptr memory)
{
    xcu_event event;
    char record[64], wait[64], function[64];
    int called = 0;
    SET_ALL(D8, D2D8, 1);
    SET_ALL(D16, D2D16, 2);
    SET_ALL(D32, D2D32, 4);
    CALL(cuEventCreate, &event, 0);
    snprintf(record, sizeof record, "record a %p", event);
    snprintf(wait, sizeof wait, "wait a %p", event);
    snprintf(function, sizeof function, "host-function a %p", (void *)on_host);
    DONE(record, cuEventRecordWithFlags, event, a, 0);
    DONE(record, cuEventRecord_ptsz, event, a);
    DONE(wait, cuStreamWaitEvent_ptsz, a, event, 0);
    DONE(function, cuLaunchHostFunc_ptsz, a, on_host, &called);
    CALL(cuCtxSynchronize);
    DONE("query a -", cuStreamQuery_ptsz, a);
    DONE("query - -", cuStreamQuery_ptsz, NULL);
}

/* One call, an event for each device. */
static void on_both(xcu_context first, const void *image)
{
    struct xcu_launch both[2] = {{kernel, {1, 1, 1}, {8, 1, 1}, 0, a, NULL}};
    xcu_device device;
    xcu_context second;
    xcu_stream b;
    void *module, *other;
    uint64_t before;
    CALL(cuDeviceGet, &device, 1);
    CALL(cuDevicePrimaryCtxRetain, &second, device);
    CALL(cuCtxSetCurrent, second);
    CALL(cuModuleLoadData, &module, image);
    CALL(cuModuleGetFunction, &other, module, "step");
    before = now();
    CALL(cuStreamCreate, &b, 1);
    printf("stream b 1/0 %llu %llu\nis b %p\n", (unsigned long long)before,
           (unsigned long long)now(), b);
    both[1] = (struct xcu_launch){other, {1, 1, 1}, {8, 1, 1}, 0, b, NULL};
    CALL(cuCtxSetCurrent, first);
    before = now();
    CALL(cuLaunchCooperativeKernelMultiDevice, both, 2, 0);
    for (int i = 0; i < 2; i++)
        printf("launch %s both:step:8 %llu %llu\n", i ? "b" : "a", (unsigned long long)before,
               (unsigned long long)now());
    CALL(cuDevicePrimaryCtxRelease_v2, device);
}

int main(void)
{
    static const char image[] = ".version 7.0\n.visible .entry step()\n";
    xcu_device device;
    xcu_context context;
    xcu_deviceptr memory;
    void *module, *pinned;
    int devices;
    resolve();
    CALL(cuInit, 0);
    CALL(cuDeviceGetCount, &devices);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &memory, BYTES);
    CALL(cuModuleLoadData, &module, image);
    CALL(cuModuleGetFunction, &kernel, module, "step");
    DONE("stream a 0/0", cuStreamCreate, &a, 0);
    printf("is a %p\n", a);
    CALL(cuMemHostAlloc, &pinned, BYTES, 0);
    launches();
    others(memory);
    if (devices > 1)
        on_both(context, image);
    CALL(cuModuleUnload, module);
    DONE("stream-end a -", cuStreamDestroy, a);
    return 0;
}
