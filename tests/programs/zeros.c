/*
 * Four copies among many of no bytes, which succeed and move nothing: one line for each that moves
 * (direction, transfers, bytes), and how many do not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { BYTES = 4096, PITCH = 512 };

static int empty;

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "zeros: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void nothing(xrt_error error, const char *what)
{
    check(error, what);
    empty++;
}

static void copy_nothing(char *device, char *other, char *pinned, char *pageable, xcu_stream stream)
{
    nothing(cudaMemcpy(device, pageable, 0, XRT_COPY_H2D), "cudaMemcpy");
    nothing(cudaMemcpy(pinned, device, 0, XRT_COPY_D2H), "cudaMemcpy");
    nothing(cudaMemcpy(other, device, 0, XRT_COPY_D2D), "cudaMemcpy");
    nothing(cudaMemcpy(pinned, pageable, 0, XRT_COPY_H2H), "cudaMemcpy");
    nothing(cudaMemcpy(NULL, NULL, 0, XRT_COPY_DEFAULT), "cudaMemcpy");
    nothing(cudaMemcpyAsync(device, pinned, 0, XRT_COPY_H2D, stream), "cudaMemcpyAsync");
    nothing(cudaMemcpyAsync(pageable, device, 0, XRT_COPY_D2H, stream), "cudaMemcpyAsync");
    nothing(cudaMemcpyAsync(other, device, 0, XRT_COPY_DEFAULT, NULL), "cudaMemcpyAsync");
    nothing(cudaMemcpy2D(device, PITCH, pinned, PITCH, 0, 4, XRT_COPY_H2D), "cudaMemcpy2D");
    nothing(cudaMemcpy2D(pinned, PITCH, device, PITCH, 64, 0, XRT_COPY_D2H), "cudaMemcpy2D");
}

int main(void)
{
    static char pageable[BYTES];
    void *device = NULL, *other = NULL, *pinned = NULL;
    xcu_stream stream = NULL;

    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaMalloc(&other, BYTES), "cudaMalloc");
    check(cudaMallocHost(&pinned, BYTES), "cudaMallocHost");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaMemcpy(device, pageable, BYTES, XRT_COPY_H2D), "cudaMemcpy");
    copy_nothing(device, other, pinned, pageable, stream);
    check(cudaMemcpyAsync(other, device, BYTES, XRT_COPY_D2D, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaMemcpy2D(pinned, PITCH, other, PITCH, 64, 4, XRT_COPY_D2H), "cudaMemcpy2D");
    copy_nothing(device, other, pinned, pageable, stream);
    check(cudaMemcpy(pageable, other, BYTES, XRT_COPY_D2H), "cudaMemcpy");
    printf("H2D 1 %d\nD2D 1 %d\nD2H 1 256\nD2H 1 %d\nempty %d\n", BYTES, BYTES, BYTES, empty);
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    check(cudaFree(other), "cudaFree");
    check(cudaFree(device), "cudaFree");
    return 0;
}
