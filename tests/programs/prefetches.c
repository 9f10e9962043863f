/*
 * One batch that prefetches parts of two allocations of managed memory, to the device and to the
 * host, one prefetch alone, and a batch that gives up the old contents first. A line for each
 * range, in their order: address, bytes, where to.
 */
#include <stdio.h>

#include "xferscope/cuda_abi.h"

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuMemPrefetchAsync_v2, (xcu_deviceptr, size_t, struct xcu_location, unsigned, xcu_stream))   \
    X(cuMemPrefetchBatchAsync, (xcu_deviceptr *, size_t *, size_t, struct xcu_location *,          \
                                size_t *, size_t, unsigned long long, xcu_stream))                 \
    X(cuMemDiscardAndPrefetchBatchAsync,                                                           \
      (xcu_deviceptr *, size_t *, size_t, struct xcu_location *, size_t *, size_t,                 \
       unsigned long long, xcu_stream))

#include "tests/programs/calls_by_name.h"

enum { MIB = 1 << 20, RANGES = 3 };

static void say(xcu_deviceptr address, size_t bytes, struct xcu_location where)
{
    printf("0x%llx %zu %s\n", (unsigned long long)address, bytes,
           where.type == XCU_LOCATION_DEVICE ? "device" : "host");
}

int main(void)
{
    xcu_context context;
    xcu_device device;
    xcu_deviceptr one, other;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAllocManaged, &one, 8 * MIB, 1);
    CALL(cuMemAllocManaged, &other, 8 * MIB, 1);
    struct xcu_location where[] = {{XCU_LOCATION_DEVICE, 0}, {XCU_LOCATION_HOST, 0}};
    xcu_deviceptr ranges[RANGES] = {one, other + MIB, one + 4 * MIB};
    size_t bytes[RANGES] = {MIB, 2 * MIB, 3 * MIB}, from[] = {0, 2};
    CALL(cuMemPrefetchBatchAsync, ranges, bytes, RANGES, where, from, 2, 0, NULL);
    for (int i = 0; i < RANGES; i++)
        say(ranges[i], bytes[i], where[i >= 2]);
    CALL(cuMemPrefetchAsync_v2, other, MIB, where[0], 0, NULL);
    say(other, MIB, where[0]);
    CALL(cuMemDiscardAndPrefetchBatchAsync, ranges, bytes, 2, where, from, 1, 0, NULL);
    for (int i = 0; i < 2; i++)
        say(ranges[i], bytes[i], where[0]);
    CALL(cuCtxSynchronize);
    return 0;
}
