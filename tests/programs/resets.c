/*
 * Contexts that end with copies just made, and others that come after them: three times five
 * copies, each time followed by a reset of the device, once without waiting for them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { BYTES = 4096, COPIES = 5, ROUNDS = 3 };

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "resets: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void copy(int wait)
{
    void *device = NULL, *host = NULL;
    xcu_stream stream = NULL;

    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaMallocHost(&host, BYTES), "cudaMallocHost");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (int i = 0; i < COPIES; i++)
        check(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, stream), "cudaMemcpyAsync");
    if (wait)
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        copy(round != 1);
        check(cudaDeviceReset(), "cudaDeviceReset");
    }
    printf("%d copies\n", ROUNDS * COPIES);
    return 0;
}
