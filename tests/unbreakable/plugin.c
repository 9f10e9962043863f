/* What loader.c loads: a library that copies. */
#include "tests/programs/runtime_api.h"

__attribute__((visibility("default"))) int plugin_copy(int copies);

int plugin_copy(int copies)
{
    static char bytes[512];
    void *device = NULL;
    int error = cudaMalloc(&device, sizeof bytes);
    for (int i = 0; i < copies && error == 0; i++)
        error = cudaMemcpy(device, bytes, sizeof bytes, XRT_COPY_H2D);
    return error ? error : cudaFree(device);
}
