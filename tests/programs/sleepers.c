/*
 * Three threads. One copies what it asks the second one for, and sleeps until that has worked for
 * it, without calls of CUDA. The third one copies too, and works in between. Says how long the two
 * worked each time, ns, and the numbers of the threads that copied: first the one that slept.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime_api.h"

#define BYTES ((size_t)64 << 10)
enum { TIMES = 20, WORK_NS = 1000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned asked, made;
static pid_t slept, worked;

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "sleepers: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

/* By the processor's time. */
static void work(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < WORK_NS);
}

static void *make(void *unused)
{
    for (unsigned i = 1; i <= TIMES; i++) {
        pthread_mutex_lock(&lock);
        while (asked < i)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        work();
        pthread_mutex_lock(&lock);
        made = i;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void ask_and_wait(unsigned i)
{
    pthread_mutex_lock(&lock);
    asked = i;
    pthread_cond_broadcast(&changed);
    while (made < i)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *copy(void *sleeps)
{
    void *device, *host = calloc(1, BYTES);
    *(sleeps ? &slept : &worked) = gettid();
    check(cudaMalloc(&device, BYTES));
    for (unsigned i = 1; i <= TIMES; i++) {
        check(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
        if (sleeps)
            ask_and_wait(i);
        else
            work();
    }
    check(cudaFree(device));
    free(host);
    return NULL;
}

int main(void)
{
    pthread_t maker, sleeper, worker;
    check(cudaFree(NULL));
    pthread_create(&maker, NULL, make, NULL);
    pthread_create(&sleeper, NULL, copy, &slept);
    pthread_create(&worker, NULL, copy, NULL);
    pthread_join(sleeper, NULL);
    pthread_join(worker, NULL);
    pthread_join(maker, NULL);
    printf("%d %d %d %d\n", TIMES, WORK_NS, slept, worked);
    return 0;
}
