/*
 * Waits of every kind around one small copy, and a line for each that succeeded: what is waited
 * for and how often. Those that fail are no waits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { BYTES = 4096 };

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "waits: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

int main(void)
{
    void *device = NULL, *host = NULL;
    xcu_stream stream = NULL;
    xcu_event event = NULL;

    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaMallocHost(&host, BYTES), "cudaMallocHost");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaEventCreate(&event), "cudaEventCreate");
    check(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, stream), "cudaMemcpyAsync");
    check(cudaEventRecord(event, stream), "cudaEventRecord");
    check(cudaEventSynchronize(event), "cudaEventSynchronize");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    printf("event 1\nstream 3\ncontext 1\n");
    printf("stream %p\n", stream);
    check(cudaEventDestroy(event), "cudaEventDestroy");
    printf("after its end: %s\n", cudaGetErrorName(cudaEventSynchronize(NULL)));
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFreeHost(host), "cudaFreeHost");
    check(cudaFree(device), "cudaFree");
    return 0;
}
