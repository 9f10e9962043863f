/*
 * The end of a process beside threads that copy.
 *
 *     exits exit | first | quick     exit() by another thread; the first thread leaves by
 *                                    pthread_exit and the others end; _exit
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (8 * MIB)

static void *device;
static int copies;

static void *copy_for_ever(void *host)
{
    while (cudaMemcpy(device, host, BYTES, XRT_COPY_H2D) == 0)
        __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    pause();
    return NULL;
}

static void *copy_some(void *host)
{
    for (int i = 0; i < 20; i++)
        MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    printf("the last thread ends\n");
    return NULL;
}

static void at_exit(void)
{
    printf("exit handlers ran\n");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";
    char *host = malloc(WARM_BYTES);
    pthread_t thread;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    atexit(at_exit);
    if (strcmp(how, "first") == 0) {
        pthread_create(&thread, NULL, copy_some, host);
        pthread_exit(NULL);
    }
    pthread_create(&thread, NULL, copy_for_ever, host);
    while (__atomic_load_n(&copies, __ATOMIC_RELAXED) < 30)
        usleep(100);
    printf("copied\n");
    fflush(stdout);
    if (strcmp(how, "quick") == 0)
        _exit(3);
    exit(5);
}
