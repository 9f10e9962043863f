/*
 * Kernels of C programs, for the simulated GPU's runtimes: what nvcc's generated code does, with an
 * image that holds nothing. A kernel is named by the address of a variable of its own.
 */
#ifndef XFERSCOPE_PROGRAMS_KERNEL_CLIENT_H
#define XFERSCOPE_PROGRAMS_KERNEL_CLIENT_H

#include "tests/programs/runtime_api.h"

xrt_error cudaLaunchKernel(const void *host, unsigned long long grid_xy, unsigned grid_z,
                           unsigned long long block_xy, unsigned block_z, void **params,
                           size_t shared, xcu_stream stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

static inline void register_kernel(const char *host, char *name)
{
    static char image[8];
    static struct {
        int magic, version;
        void *data, *unused;
    } wrapper = {0x466243b1, 1, image, NULL};
    __cudaRegisterFunction(__cudaRegisterFatBinary(&wrapper), host, name, name, -1, NULL, NULL,
                           NULL, NULL, NULL);
}

/* Blocks in a row, of two rows of threads. */
static inline xrt_error launch_kernel(const char *host, unsigned blocks, unsigned threads,
                                      xcu_stream stream)
{
    return cudaLaunchKernel(host, 1ull << 32 | blocks, 1, 2ull << 32 | threads, 1, NULL, 0, stream);
}

#endif
