/*
 * Captures that fail, each followed by copies that are none of theirs. Prints what the calls that
 * begin and end captures return, and how many copies were made outside of captures: beside one, and
 * when none was under way.
 */
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

enum { BYTES = 65536, GLOBAL = 0, RELAXED = 2, NON_BLOCKING = 1 };

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuDevicePrimaryCtxReset_v2, (xcu_device))                                                    \
    X(cuDevicePrimaryCtxRelease_v2, (xcu_device))                                                  \
    X(cuCtxCreate_v2, (xcu_context *, unsigned, xcu_device))                                       \
    X(cuCtxDestroy_v2, (xcu_context))                                                              \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuStreamCreate, (xcu_stream *, unsigned))                                                    \
    X(cuStreamDestroy_v2, (xcu_stream))                                                            \
    X(cuStreamSynchronize, (xcu_stream))                                                           \
    X(cuStreamBeginCapture_v2, (xcu_stream, int))                                                  \
    X(cuStreamEndCapture, (xcu_stream, xcu_graph *))                                               \
    X(cuMemcpyHtoDAsync_v2, (xcu_deviceptr, const void *, size_t, xcu_stream))

#include "tests/programs/calls_by_name.h"

static xcu_deviceptr device;
static void *pinned;
static int beside, apart;

static void copy(xcu_stream stream)
{
    CALL(cuMemcpyHtoDAsync_v2, device, pinned, BYTES, stream);
}

static void copy_apart(xcu_stream stream)
{
    for (int i = 0; i < 10; i++, apart++) {
        copy(stream);
        CALL(cuStreamSynchronize, stream);
    }
}

static xcu_stream make_stream(void)
{
    xcu_stream stream;
    CALL(cuStreamCreate, &stream, NON_BLOCKING);
    return stream;
}

/* Waiting is forbidden: the capture is invalid, and ends with an error. */
static void invalidated(xcu_stream stream)
{
    xcu_graph graph = NULL;
    printf("begin %d", cu.cuStreamBeginCapture_v2(stream, GLOBAL));
    copy(stream);
    printf(" wait %d", cu.cuStreamSynchronize(stream));
    printf(" end %d", cu.cuStreamEndCapture(stream, &graph));
    printf(" again %d\n", cu.cuStreamEndCapture(stream, &graph));
}

/* Ended in the wrong stream first. */
static void unmatched(xcu_stream stream, xcu_stream other)
{
    xcu_graph graph = NULL;
    printf("begin %d", cu.cuStreamBeginCapture_v2(stream, RELAXED));
    printf(" elsewhere %d", cu.cuStreamEndCapture(other, &graph));
    copy(other);
    beside++;
    copy(stream);
    printf(" end %d\n", cu.cuStreamEndCapture(stream, &graph));
}

static void destroyed(void)
{
    xcu_stream stream = make_stream();
    printf("begin %d", cu.cuStreamBeginCapture_v2(stream, RELAXED));
    copy(stream);
    printf(" destroy %d\n", cu.cuStreamDestroy_v2(stream));
}

static void use_primary(xcu_device number)
{
    xcu_context context;
    CALL(cuDevicePrimaryCtxRetain, &context, number);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &device, BYTES);
    CALL(cuMemHostAlloc, &pinned, BYTES, 0);
}

/* A context that ends takes its captures with it, and those of others go on. */
static void context_destroyed(xcu_device number, xcu_stream captured, xcu_stream other)
{
    xcu_context context, before;
    xcu_graph graph = NULL;
    CALL(cuDevicePrimaryCtxRetain, &before, number);
    CALL(cuStreamBeginCapture_v2, captured, RELAXED);
    CALL(cuCtxCreate_v2, &context, 0, number);
    printf("begin %d", cu.cuStreamBeginCapture_v2(make_stream(), RELAXED));
    printf(" destroy %d", cu.cuCtxDestroy_v2(context));
    CALL(cuCtxSetCurrent, before);
    copy(other);
    beside++;
    printf(" end %d\n", cu.cuStreamEndCapture(captured, &graph));
    CALL(cuStreamSynchronize, other);
    CALL(cuDevicePrimaryCtxRelease_v2, number);
}

/* One that others hold stays; the last takes it, and whatever it has. */
static void primary_released(xcu_device number, xcu_stream other)
{
    xcu_context same;
    CALL(cuDevicePrimaryCtxRetain, &same, number);
    printf("begin %d", cu.cuStreamBeginCapture_v2(make_stream(), RELAXED));
    printf(" release %d", cu.cuDevicePrimaryCtxRelease_v2(number));
    copy(other);
    beside++;
    CALL(cuStreamSynchronize, other);
    printf(" release %d\n", cu.cuDevicePrimaryCtxRelease_v2(number));
}

static void primary_reset(xcu_device number)
{
    printf("begin %d", cu.cuStreamBeginCapture_v2(make_stream(), RELAXED));
    printf(" reset %d\n", cu.cuDevicePrimaryCtxReset_v2(number));
}

int main(void)
{
    xcu_device number;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &number, 0);
    use_primary(number);
    xcu_stream stream = make_stream(), other = make_stream();
    copy_apart(stream);
    invalidated(stream);
    copy_apart(stream);
    unmatched(stream, other);
    copy_apart(stream);
    destroyed();
    copy_apart(stream);
    CALL(cuStreamSynchronize, other);
    context_destroyed(number, stream, other);
    copy_apart(stream);
    primary_released(number, other);
    use_primary(number);
    copy_apart(make_stream());
    primary_reset(number);
    use_primary(number);
    copy_apart(make_stream());
    printf("%d beside, %d apart\n", beside, apart);
    return 0;
}
