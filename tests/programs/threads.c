/*
 * Threads that copy at the same time, each through its own buffers and stream; some end
 * while others go on.
 *
 * usage: threads [THREADS [COPIES]]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

enum { BYTES = 8192, MOST_THREADS = 256 };

struct worker {
    pthread_t thread;
    int number;
    int copies;
    uint64_t sum; /* of what came back */
};

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "threads: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static uint64_t sum_of(const unsigned char *bytes)
{
    uint64_t sum = 0;

    for (int i = 0; i < BYTES; i++)
        sum += bytes[i];
    return sum;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    void *device = NULL;
    xcu_stream stream = NULL;

    if (!out || !in)
        exit(1);
    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (int i = 0; i < w->copies; i++) {
        memset(out, w->number + i, BYTES);
        check(cudaMemcpyAsync(device, out, BYTES, XRT_COPY_H2D, stream), "upload");
        check(cudaMemcpyAsync(in, device, BYTES, XRT_COPY_D2H, stream), "download");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        w->sum += sum_of(in);
    }
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(device), "cudaFree");
    free(out);
    free(in);
    return NULL;
}

static uint64_t expected_sum(const struct worker *w)
{
    uint64_t sum = 0;

    for (int i = 0; i < w->copies; i++)
        sum += (uint64_t)BYTES * (unsigned char)(w->number + i);
    return sum;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    int threads = argc > 1 ? atoi(argv[1]) : 8, copies = argc > 2 ? atoi(argv[2]) : 50;
    int wrong = 0;

    if (threads < 1 || threads > MOST_THREADS || copies < 1) {
        fputs("usage: threads [THREADS [COPIES]]\n", stderr);
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].copies = copies * (1 + i % 3);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        printf("thread %d: %d copies each way, sum %llu\n", i, workers[i].copies,
               (unsigned long long)workers[i].sum);
        wrong += workers[i].sum != expected_sum(&workers[i]);
    }
    if (wrong)
        printf("%d threads got other bytes back\n", wrong);
    return wrong != 0;
}
