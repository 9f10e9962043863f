/*
 * Threads that copy at the same time, from and to memory of their own, on streams of their own and
 * on the default stream; threads that come and go.
 */
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (5 * MIB)
enum { THREADS = 4, GENERATIONS = 3, ROUNDS = 6 };

static int different;

static void *work(void *number)
{
    char *host = malloc(BYTES), *found = malloc(BYTES);
    void *device;
    xcu_stream stream;
    MUST(cudaMalloc(&device, BYTES));
    MUST(cudaStreamCreate(&stream));
    for (uint64_t i = 0; i < ROUNDS; i++) {
        fill(host, BYTES, i + 1000 * (uint64_t)(uintptr_t)number);
        uint64_t sent = sum(host, BYTES);
        MUST(cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, i & 1 ? stream : NULL));
        memset(host, 0, BYTES);
        MUST(cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, i & 1 ? stream : NULL));
        if (sum(found, BYTES) != sent)
            __atomic_fetch_add(&different, 1, __ATOMIC_RELAXED);
    }
    MUST(cudaStreamDestroy(stream));
    MUST(cudaFree(device));
    free(host);
    free(found);
    return NULL;
}

int main(void)
{
    char *host = malloc(WARM_BYTES);
    void *device;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    for (uintptr_t i = 0; i < GENERATIONS; i++) {
        pthread_t made[THREADS];
        for (uintptr_t t = 0; t < THREADS; t++)
            pthread_create(&made[t], NULL, work, (void *)(i * THREADS + t));
        for (int t = 0; t < THREADS; t++)
            pthread_join(made[t], NULL);
    }
    printf("%d different, last error %d\n", different, cudaGetLastError());
    return 0;
}
