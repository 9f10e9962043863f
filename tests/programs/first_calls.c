/*
 * Threads whose first calls of CUDA come at once, over all GPUs: some of them are still making
 * their contexts when others copy (the GPU's form of it, with more kinds of calls, is races.cu).
 *
 * usage: first_calls THREADS [in-turn]   prints the copies made, in each direction; in-turn: one
 * thread after the other
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime_api.h"

enum { BYTES = 4096, COPIES = 10, MOST_THREADS = 64 };

xrt_error cudaGetDeviceCount(int *count);
xrt_error cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags);

static int devices;
static pthread_barrier_t start;

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "first_calls: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void first_call(int kind)
{
    void *managed = NULL;

    if (kind == 0)
        check(cudaFree(NULL), "cudaFree");
    if (kind != 1)
        return;
    check(cudaMallocManaged(&managed, BYTES, 1), "cudaMallocManaged");
    check(cudaFree(managed), "cudaFree");
}

static void *work(void *argument)
{
    int number = (int)(long)argument;
    char host[BYTES] = {0};
    void *device = NULL;

    pthread_barrier_wait(&start);
    nanosleep(&(struct timespec){0, number % 5 * 3000000}, NULL);
    check(cudaSetDevice(number % devices), "cudaSetDevice");
    first_call(number / devices % 3);
    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    for (int i = 0; i < COPIES; i++) {
        check(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D), "upload");
        check(cudaMemcpy(host, device, BYTES, XRT_COPY_D2H), "download");
    }
    check(cudaFree(device), "cudaFree");
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread[MOST_THREADS];

    if (threads < 1 || threads > MOST_THREADS) {
        fputs("usage: first_calls THREADS [in-turn]\n", stderr);
        return 2;
    }
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    bool in_turn = argc > 2 && strcmp(argv[2], "in-turn") == 0;
    pthread_barrier_init(&start, NULL, in_turn ? 1 : (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)(long)i) != 0)
            return 1;
        if (in_turn)
            pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < threads && !in_turn; i++)
        pthread_join(thread[i], NULL);
    printf("%d\n", threads * COPIES);
    return 0;
}
