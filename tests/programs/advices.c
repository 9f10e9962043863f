/*
 * Advice about managed memory among prefetches of it, by the first thread and then by a second one.
 * A line for each call, in their order: thread, prefetch or advice (its number), bytes, where.
 */
#include <pthread.h>
#include <stdio.h>

#include "xferscope/cuda_abi.h"

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuMemAdvise_v2, (xcu_deviceptr, size_t, int, struct xcu_location))                           \
    X(cuMemPrefetchAsync_v2, (xcu_deviceptr, size_t, struct xcu_location, unsigned, xcu_stream))

#include "tests/programs/calls_by_name.h"

enum { MIB = 1 << 20, PREFERRED = 3, ACCESSED_BY = 5 }; /* CU_MEM_ADVISE_SET_... */

static const struct xcu_location device = {XCU_LOCATION_DEVICE, 0}, host = {XCU_LOCATION_HOST, 0};
static xcu_deviceptr memory;
static xcu_context context;

static void prefetch(int thread, size_t bytes, struct xcu_location where)
{
    CALL(cuMemPrefetchAsync_v2, memory, bytes, where, 0, NULL);
    printf("%d prefetch %zu %s\n", thread, bytes,
           where.type == XCU_LOCATION_DEVICE ? "device" : "host");
}

static void advise(int thread, size_t bytes, int advice, struct xcu_location where)
{
    CALL(cuMemAdvise_v2, memory, bytes, advice, where);
    printf("%d %d %zu %s\n", thread, advice, bytes,
           where.type == XCU_LOCATION_DEVICE ? "device" : "host");
}

static void *second(void *nothing)
{
    CALL(cuCtxSetCurrent, context);
    advise(1, 3 * MIB, PREFERRED, host);
    prefetch(1, 3 * MIB, host);
    return nothing;
}

int main(void)
{
    xcu_device number;
    pthread_t other;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &number, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, number);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAllocManaged, &memory, 8 * MIB, 1);
    prefetch(0, MIB, device);
    advise(0, MIB, PREFERRED, device);
    prefetch(0, 2 * MIB, device);
    advise(0, 2 * MIB, ACCESSED_BY, host);
    pthread_create(&other, NULL, second, NULL);
    pthread_join(other, NULL);
    advise(0, MIB, ACCESSED_BY, device);
    CALL(cuCtxSynchronize);
    return 0;
}
