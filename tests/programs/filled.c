/*
 * Fills of memory that a copy brought to the device, in every form, each before a launch of a
 * kernel that is given the memory and leaves it as it is; the last launch changes it. For `record
 * --verify`, on the simulated GPU. Prints the number of launches. All but a launch that changes the
 * memory, two launches before the end, is in ranges "seen".
 */
#include <stdint.h>

typedef unsigned u;
#define CALLS(X)                                                                                   \
    X(cuInit, (u))                                                                                 \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemcpyHtoD_v2, (xcu_deviceptr, const void *, size_t))                                      \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuStreamCreate, (xcu_stream *, u))                                                           \
    X(cuLaunchKernel, (void *, u, u, u, u, u, u, u, xcu_stream, void **, void **))                 \
    FILLS(X)

#include "tests/programs/calls_by_name.h"
#include "tests/programs/nvtx_client.h"
#include "tools/simgpu/simgpu.h"

enum { BYTES = 1 << 16 };

static xcu_deviceptr memory;
static xcu_stream stream;
static void *keep;
static unsigned launches;

#pragma GCC visibility push(default)
xferscope_simgpu_twin xferscope_simgpu_kernel_keep;
extern const size_t xferscope_simgpu_params_keep[];
#pragma GCC visibility pop

void xferscope_simgpu_kernel_keep(void **values, const unsigned grid[3], const unsigned block[3])
{
    (void)block;
    **(unsigned char **)values[0] ^= grid[0] - 1;
}
const size_t xferscope_simgpu_params_keep[] = {8, 0};

/* One after the other in `stream`; those of other streams are waited for. `changes`: the kernel
 * changes a byte. */
static void launch(u changes)
{
    void *values[] = {&memory};
    CALL(cuCtxSynchronize);
    CALL(cuLaunchKernel, keep, 1 + changes, 1, 1, 1, 1, 1, 0, stream, values, NULL);
    CALL(cuCtxSynchronize);
    launches++;
}

#define FILLED(name, ...)                                                                          \
    do {                                                                                           \
        CALL(name, __VA_ARGS__);                                                                   \
        launch(0);                                                                                 \
    } while (0)
/* Rows of which only the last lies behind the first page. */
#define FILLED_ALL(row, rows, value)                                                               \
    do {                                                                                           \
        FILLED(cuMemset##row##_v2, memory + 64, (value) + 1, 16);                                  \
        FILLED(cuMemset##row##_v2_ptds, memory + 64, (value) + 2, 16);                             \
        FILLED(cuMemset##row##Async, memory + 64, (value) + 3, 16, stream);                        \
        FILLED(cuMemset##row##Async_ptsz, memory + 64, (value) + 4, 16, stream);                   \
        FILLED(cuMemset##rows##_v2, memory, 16384, (value) + 5, 4, 3);                             \
        FILLED(cuMemset##rows##_v2_ptds, memory, 16384, (value) + 6, 4, 3);                        \
        FILLED(cuMemset##rows##Async, memory, 16384, (value) + 7, 4, 3, stream);                   \
        FILLED(cuMemset##rows##Async_ptsz, memory, 16384, (value) + 8, 4, 3, stream);              \
    } while (0)

int main(void)
{
    static const unsigned char bytes[BYTES];
    xcu_context context;
    void *module;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuStreamCreate, &stream, XCU_STREAM_NON_BLOCKING);
    CALL(cuModuleLoadData, &module, "\177ELF");
    CALL(cuModuleGetFunction, &keep, module, "keep");
    CALL(cuMemAlloc_v2, &memory, BYTES);
    nvtxRangePushA("seen");
    for (u i = 0; i < BYTES; i += BYTES / 16) /* pieces: rows lie in several */
        CALL(cuMemcpyHtoD_v2, memory + i, bytes + i, BYTES / 16);
    FILLED_ALL(D8, D2D8, 10);
    FILLED_ALL(D16, D2D16, 20);
    FILLED_ALL(D32, D2D32, 30);
    nvtxRangePop();
    launch(2);
    nvtxRangePushA("seen");
    launch(0);
    launch(2);
    nvtxRangePop();
    printf("%u\n", launches);
    return 0;
}
