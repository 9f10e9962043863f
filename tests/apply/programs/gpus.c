/*
 * Several GPUs: copies to each from threads of their own at the same time; to a device that is not
 * the current one; a stream of another device.
 */
#include <pthread.h>
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (6 * MIB)
enum { ROUNDS = 10, MOST = 4 };

xrt_error cudaGetDeviceCount(int *count);

static void *memory[MOST];
static xcu_stream streams[MOST];
static int different;

static void *work(void *number)
{
    int gpu = (int)(uintptr_t)number;
    char *host = malloc(WARM_BYTES), *found = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaSetDevice(gpu));
    warm_up(memory[gpu], host);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        fill(host, BYTES, i + 100 * (uint64_t)gpu);
        MUST(cudaMemcpyAsync(memory[gpu], host, BYTES, XRT_COPY_H2D, streams[gpu]));
        MUST(cudaMemcpyAsync(found, memory[gpu], BYTES, XRT_COPY_D2H, streams[gpu]));
        if (memcmp(host, found, BYTES) != 0)
            __atomic_fetch_add(&different, 1, __ATOMIC_RELAXED);
    }
    free(host);
    free(found);
    return NULL;
}

static void crossed(int count)
{
    char *host = malloc(BYTES), *found = malloc(BYTES);
    for (int i = 0; i < count; i++) {
        int next = (i + 1) % count;
        fill(host, BYTES, (uint64_t)i);
        MUST(cudaSetDevice(i));
        MUST(cudaMemcpy(memory[next], host, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, memory[next], BYTES, XRT_COPY_D2H));
        printf("to another: %s\n", memcmp(host, found, BYTES) == 0 ? "same" : "different");
        int error = cudaMemcpyAsync(memory[i], host, BYTES, XRT_COPY_H2D, streams[next]);
        printf("another's stream: %d, last %d\n", error, cudaGetLastError());
    }
    free(host);
    free(found);
}

int main(void)
{
    pthread_t made[MOST];
    int count;
    MUST(cudaGetDeviceCount(&count));
    if (count > MOST)
        count = MOST;
    for (int i = 0; i < count; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaMalloc(&memory[i], WARM_BYTES));
        MUST(cudaStreamCreate(&streams[i]));
    }
    for (int i = 0; i < count; i++)
        pthread_create(&made[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < count; i++)
        pthread_join(made[i], NULL);
    crossed(count);
    printf("%d GPUs, %d different\n", count, different);
    return 0;
}
