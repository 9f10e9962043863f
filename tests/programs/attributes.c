/*
 * Single copies with attributes (CUDA 13.2): to the device in one piece, and back as a box of three
 * layers. Checks what arrived; a line for each copy: direction, bytes. Exits with 77 where the
 * driver has none.
 */
#include <string.h>

#include "xferscope/cuda_abi.h"

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuStreamCreate, (xcu_stream *, unsigned))                                                    \
    X(cuStreamSynchronize, (xcu_stream))

#include "tests/programs/calls_by_name.h"

enum { WIDTH = 4096, HEIGHT = 16, DEPTH = 3, BYTES = WIDTH * HEIGHT * DEPTH, AS_STREAM = 1 };

typedef xcu_result copy_function(xcu_deviceptr, xcu_deviceptr, size_t, struct xcu_copy_attributes *,
                                 xcu_stream);
typedef xcu_result box_function(struct xcu_memcpy3d_op *, unsigned long long, xcu_stream);

static struct xcu_operand at(xcu_deviceptr address)
{
    return (struct xcu_operand){
        .type = XCU_OPERAND_POINTER,
        .op.ptr = {.ptr = address, .row_length = WIDTH, .layer_height = HEIGHT}};
}

static void check(const char *what, xcu_result result)
{
    if (result != 0)
        fail(what, result);
}

int main(void)
{
    xcu_context context;
    xcu_device device;
    xcu_deviceptr there;
    xcu_stream stream;
    unsigned char *from, *back;
    void *driver = find_calls();
    copy_function *copy = (copy_function *)dlsym(driver, "cuMemcpyWithAttributesAsync");
    box_function *box = (box_function *)dlsym(driver, "cuMemcpy3DWithAttributesAsync");
    if (copy == NULL || box == NULL)
        return 77;
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &there, BYTES);
    CALL(cuMemHostAlloc, (void **)&from, BYTES, 0);
    CALL(cuMemHostAlloc, (void **)&back, BYTES, 0);
    CALL(cuStreamCreate, &stream, 1);
    for (int i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7);
    struct xcu_copy_attributes attributes = {.access_order = AS_STREAM};
    struct xcu_memcpy3d_op op = {.src = at(there),
                                 .dst = at((xcu_deviceptr)(uintptr_t)back),
                                 .extent = {WIDTH, HEIGHT, DEPTH},
                                 .access_order = AS_STREAM};
    check("copy", copy(there, (xcu_deviceptr)(uintptr_t)from, BYTES, &attributes, stream));
    check("box", box(&op, 0, stream));
    CALL(cuStreamSynchronize, stream);
    if (memcmp(from, back, BYTES) != 0)
        fail("other bytes came back", 0);
    printf("H2D %d\nD2H %d\n", BYTES, BYTES);
    return 0;
}
