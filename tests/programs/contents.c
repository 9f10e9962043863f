/*
 * Copies whose content is known: sent twice, sent elsewhere, fetched back, in rows, asynchronously
 * with and without a wait, into memory that is freed or written again before it. Prints a sum over
 * what arrived; with an argument it is killed instead.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

#define BYTES 65536
#define PITCH 512
#define ROWS 256
#define WIDTH (BYTES / ROWS)

static unsigned char first[BYTES], second[BYTES], back[BYTES], spread[ROWS * PITCH];
static unsigned long sum;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "contents: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

static void fill(unsigned char *bytes, unsigned seed)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static void add(const unsigned char *bytes)
{
    for (size_t i = 0; i < BYTES; i++)
        sum = sum * 31 + bytes[i];
}

static void blocking(void *one, void *other)
{
    check(cudaMemcpy(one, first, BYTES, XRT_COPY_H2D));    /* new */
    check(cudaMemcpy(one, first, BYTES, XRT_COPY_H2D));    /* the same to the same place */
    check(cudaMemcpy(other, first, BYTES, XRT_COPY_H2D));  /* the same elsewhere */
    check(cudaMemcpy(back, one, BYTES, XRT_COPY_D2H));     /* back as it was sent */
    check(cudaMemcpy(other, second, BYTES, XRT_COPY_H2D)); /* new */
    check(cudaMemcpy(one, other, BYTES, XRT_COPY_D2D));
    check(cudaMemcpy(first, one, BYTES, XRT_COPY_D2H)); /* back as it was sent */
    add(back);
    add(first);
    for (int row = 0; row < ROWS; row++)
        memcpy(spread + row * PITCH, second + row * WIDTH, WIDTH);
    check(cudaMemcpy2D(one, WIDTH, spread, PITCH, WIDTH, ROWS, XRT_COPY_H2D)); /* elsewhere */
}

static void waited(void *one, unsigned char *pinned[4])
{
    xcu_stream stream, unused;
    check(cudaStreamCreate(&stream));
    check(cudaStreamCreate(&unused));
    check(cudaMemcpyAsync(pinned[0], one, BYTES, XRT_COPY_D2H, stream));
    check(cudaStreamSynchronize(unused)); /* not this one */
    check(cudaStreamSynchronize(stream));
    add(pinned[0]);
    check(cudaMemcpyAsync(pinned[1], one, BYTES, XRT_COPY_D2H, stream)); /* overwritten */
    check(cudaMemcpyAsync(pinned[1], one, BYTES / 2, XRT_COPY_D2H, stream));
    check(cudaDeviceSynchronize());
    add(pinned[1]);
    check(cudaMemcpyAsync(pinned[2], one, BYTES, XRT_COPY_D2H, stream));
    check(cudaFreeHost(pinned[2])); /* before anything showed that it was there */
    check(cudaStreamSynchronize(stream));
    check(cudaMemcpyAsync(pinned[3], one, BYTES, XRT_COPY_D2H, stream)); /* never waited for */
}

/* A wait for an event covers what lay before it in its stream, and no more. */
static void waited_by_event(void *one, unsigned char *pinned[4])
{
    xcu_stream stream;
    xcu_event event;
    check(cudaStreamCreate(&stream));
    check(cudaEventCreate(&event));
    check(cudaMemcpyAsync(pinned[0], one, BYTES / 4, XRT_COPY_D2H, stream));
    check(cudaEventRecord(event, stream));
    check(cudaMemcpyAsync(pinned[1], one, BYTES / 4, XRT_COPY_D2H, stream)); /* behind it */
    check(cudaEventSynchronize(event));
    check(cudaEventSynchronize(event));
    check(cudaFreeHost(pinned[1]));
    /* A stream that goes leaves its handle to another, a wait for which tells nothing. */
    check(cudaMemcpyAsync(pinned[2], one, BYTES / 4, XRT_COPY_D2H, stream));
    check(cudaStreamDestroy(stream));
    check(cudaStreamCreate(&stream));
    check(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    (void)argv;
    void *one, *other;
    unsigned char *pinned[4];
    fill(first, 1);
    fill(second, 2);
    check(cudaMalloc(&one, BYTES));
    check(cudaMalloc(&other, BYTES));
    for (int i = 0; i < 4; i++)
        check(cudaMallocHost((void **)&pinned[i], BYTES));
    blocking(one, other);
    waited_by_event(one, pinned);
    check(cudaMallocHost((void **)&pinned[1], BYTES));
    waited(one, pinned);
    if (argc > 1)
        raise(SIGKILL);
    printf("%lu\n", sum);
    return 0;
}
