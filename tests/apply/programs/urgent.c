/*
 * Threads that nobody else comes before: urgent fifo | pinned | together. A thread of real-time
 * priority that waits awake keeps its processor from whoever it waits for.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (24 * MIB)
enum { ROUNDS = 6, MOST = 64 };

static void *device;
static char *host;
static int processors[MOST], count, fifo;

static void know_processors(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE && count < MOST; i++)
        if (CPU_ISSET(i, &set))
            processors[count++] = i;
}

static void pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Who may not, does without: the program says the same. */
static void hurry(void)
{
    struct sched_param first = {.sched_priority = 10};
    if (fifo)
        (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
}

static void *copy(void *number)
{
    void *own;
    char *found = malloc(BYTES);
    memset(found, 1, BYTES);
    MUST(cudaMalloc(&own, BYTES));
    pin(processors[(int)(uintptr_t)number % count]);
    hurry();
    for (int i = 0; i < ROUNDS; i++) {
        MUST(cudaMemcpy(own, host, BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(found, own, BYTES, XRT_COPY_D2H));
        if (memcmp(found, host, BYTES) != 0)
            printf("different\n");
    }
    MUST(cudaFree(own));
    free(found);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fifo";
    int many = strcmp(how, "fifo") == 0 ? 1 : 0;
    pthread_t made[MOST];
    fifo = strcmp(how, "pinned") != 0;
    know_processors();
    if (!many)
        many = count;
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host); /* at the usual priority: so are threads that were made for it */
    fill(host, BYTES, 3);
    for (uintptr_t i = 0; i < (uintptr_t)many; i++)
        pthread_create(&made[i], NULL, copy, (void *)i);
    for (int i = 0; i < many; i++)
        pthread_join(made[i], NULL);
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
