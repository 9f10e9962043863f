/*
 * Threads that copy page-locked memory in the legacy default stream at the same time, as the host
 * sees it: run alone and under `xferscope apply --plan`, in turn. All data is compared.
 *
 *     apply_streams both | up | down | order [THREADS [MIB [ROUNDS]]]
 *
 * both: every second thread downloads, the others upload; order: each uploads, copies within the
 * device by Async, in the same stream, and downloads. Prints a row: what, threads, MiB, rounds, ms,
 * GB/s of all threads together, copies that were different.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tests/apply/programs/applied.h"
#include "tests/gpu/clocked.h"

#define WITHIN 8 /* copies within the device, before a download */
enum { MOST = 16 };

struct worker {
    pthread_t thread;
    bool up, down, order;
    char *host, *asked, *device, *other;
    int number, different;
};

static size_t bytes = 16 * MIB;
static int rounds = 200;
static pthread_barrier_t all;

__attribute__((noipa)) static void upload(void *device, const void *host)
{
    MUST(cudaMemcpy(device, host, bytes, XRT_COPY_H2D));
}

__attribute__((noipa)) static void download(void *host, const void *device)
{
    MUST(cudaMemcpy(host, device, bytes, XRT_COPY_D2H));
}

/* The first and last words say which round's copy it is. */
static void mark(struct worker *worker, int round)
{
    memcpy(worker->host, &round, sizeof round);
    memcpy(worker->host + bytes - sizeof round, &round, sizeof round);
}

static void in_order(struct worker *worker, int round)
{
    int first, last;
    mark(worker, round);
    upload(worker->device, worker->host);
    for (int i = 0; i < WITHIN; i++) {
        MUST(cudaMemcpyAsync(worker->other, worker->device, bytes, XRT_COPY_D2D, NULL));
        MUST(cudaMemcpyAsync(worker->device, worker->other, bytes, XRT_COPY_D2D, NULL));
    }
    memset(worker->asked, -1, 64);
    download(worker->asked, worker->other);
    memcpy(&first, worker->asked, sizeof first);
    memcpy(&last, worker->asked + bytes - sizeof last, sizeof last);
    worker->different += first != round || last != round;
}

static void *work(void *of)
{
    struct worker *worker = of;
    MUST(cudaFree(NULL)); /* makes the context current */
    pthread_barrier_wait(&all);
    for (int round = 0; round < rounds; round++) {
        if (worker->order)
            in_order(worker, round);
        else if (worker->up)
            upload(worker->device, worker->host);
        else
            download(worker->host, worker->device);
    }
    pthread_barrier_wait(&all);
    return NULL;
}

static void begin(struct worker *worker, const char *what, int number)
{
    worker->number = number;
    worker->order = strcmp(what, "order") == 0;
    worker->down = strcmp(what, "down") == 0 || (strcmp(what, "both") == 0 && number % 2);
    worker->up = !worker->down;
    MUST(cudaMallocHost((void **)&worker->host, bytes));
    MUST(cudaMallocHost((void **)&worker->asked, bytes));
    MUST(cudaMalloc((void **)&worker->device, bytes));
    MUST(cudaMalloc((void **)&worker->other, bytes));
    fill(worker->asked, bytes, (uint64_t)number + 1);
    memcpy(worker->host, worker->asked, bytes);
    if (!worker->down)
        return;
    MUST(cudaMemcpy(worker->device, worker->asked, bytes, XRT_COPY_H2D));
    memset(worker->host, 0, bytes);
}

static void compare(struct worker *worker)
{
    if (worker->order)
        return;
    if (worker->up) {
        memset(worker->host, 0, bytes);
        MUST(cudaMemcpy(worker->host, worker->device, bytes, XRT_COPY_D2H));
    }
    worker->different += memcmp(worker->host, worker->asked, bytes) != 0;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST];
    int count = argc > 2 ? atoi(argv[2]) : 2, different = 0;
    if (argc < 2 || count < 1 || count > MOST)
        return 2;
    if (argc > 3)
        bytes = (size_t)atoi(argv[3]) * MIB;
    if (argc > 4)
        rounds = atoi(argv[4]);
    pthread_barrier_init(&all, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        begin(&workers[i], argv[1], i);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    pthread_barrier_wait(&all);
    double begun = now_s();
    pthread_barrier_wait(&all);
    double took = now_s() - begun;
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        compare(&workers[i]);
        different += workers[i].different;
    }
    int each = workers[0].order ? 2 : 1;
    printf("%s %d %zu %d %.1f %.2f %d\n", argv[1], count, bytes / MIB, rounds, took * 1e3,
           (double)bytes * each * count * rounds / took * 1e-9, different);
    return different != 0;
}
