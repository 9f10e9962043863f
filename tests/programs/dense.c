/*
 * Threads that copy 64 bytes to the host as fast as they can, until the records of copies are off;
 * then each makes AFTER copies more, waits, and ends. For the simulated GPU, whose CUPTI says which
 * kinds of record are on. Prints how many copies there were, and how many of them after that.
 *
 * usage: dense THREADS AFTER [MOST]    MOST: batches of 100 copies after which a thread goes on
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime_api.h"

enum { BYTES = 64, BATCH = 100, MOST_THREADS = 64, MEMCPY = 1 /* CUPTI_ACTIVITY_KIND_MEMCPY */ };
enum { EAGER = 500 }; /* batches without a pause */

static atomic_ulong copies, later;
static atomic_bool off;
static unsigned long after, most;

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "dense: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static bool records_are_off(void)
{
    static int (*records)(int kind);
    static void *cupti;
    if (cupti == NULL && (cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD)) != NULL)
        records = (int (*)(int))dlsym(cupti, "xferscope_simgpu_cupti_records");
    return records && !records(MEMCPY);
}

static void copy(void *host, const void *device, unsigned long times, xcu_stream stream)
{
    for (unsigned long i = 0; i < times; i++)
        check(cudaMemcpyAsync(host, device, BYTES, XRT_COPY_D2H, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    atomic_fetch_add(&copies, times);
}

static void *work(void *first)
{
    void *device = NULL, *host = NULL;
    xcu_stream stream = NULL;

    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaMallocHost(&host, BYTES), "cudaMallocHost");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (unsigned long i = 0; !atomic_load(&off) && (most == 0 || i < most); i++) {
        copy(host, device, BATCH, stream);
        if (i >= EAGER) /* the recorder's thread may have found no processor yet */
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (first && records_are_off())
            atomic_store(&off, true);
    }
    copy(host, device, after, stream);
    atomic_fetch_add(&later, after);
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    int count = argc > 1 ? atoi(argv[1]) : 1;

    after = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    most = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (count < 1 || count > MOST_THREADS)
        return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, i == 0 ? &off : NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("copies %lu\nlater %lu\n", atomic_load(&copies), atomic_load(&later));
    return 0;
}
