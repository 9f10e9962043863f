/*
 * Waits by queries that come across each other, on the simulated GPU: of several threads at once;
 * in a signal's handler, on top of one of the thread that it interrupts; and around a fork. For
 * each query that finds its work done a line: the thread's number, and how many before it were made
 * in the same wait, by what the program knows.
 *
 * usage: pollers threads | handler | fork
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_api.h"

enum { THREADS = 4, WAITS = 25, HANDLED = 3, BYTES = 1 << 20, LONGER = 4 * BYTES };

xrt_error cudaStreamQuery(xcu_stream stream);

static void check(xrt_error error)
{
    if (error != 0) {
        fprintf(stderr, "pollers: %s\n", cudaGetErrorName(error));
        exit(1);
    }
}

struct work {
    void *host, *device;
    xcu_stream stream;
    size_t bytes;
    bool back; /* to the host, beside the others */
};

static void begin(struct work *work, size_t bytes)
{
    work->bytes = bytes;
    check(cudaMallocHost(&work->host, bytes));
    check(cudaMalloc(&work->device, bytes));
    check(cudaStreamCreate(&work->stream));
}

static void copy(const struct work *work)
{
    if (work->back)
        check(cudaMemcpyAsync(work->host, work->device, work->bytes, XRT_COPY_D2H, work->stream));
    else
        check(cudaMemcpyAsync(work->device, work->host, work->bytes, XRT_COPY_H2D, work->stream));
}

static bool is_done(const struct work *work)
{
    xrt_error error = cudaStreamQuery(work->stream);
    if (error != XCU_ERROR_NOT_READY)
        check(error);
    return error == 0;
}

static void say(unsigned queries)
{
    printf("%ld %u\n", syscall(SYS_gettid), queries);
}

/* Returns how many queries found it unfinished. */
static unsigned await(const struct work *work)
{
    unsigned queries = 0;
    while (!is_done(work))
        queries++;
    return queries;
}

static pthread_barrier_t all;

static void *thread(void *argument)
{
    struct work *work = argument;
    begin(work, BYTES);
    pthread_barrier_wait(&all);
    for (int i = 0; i < WAITS; i++) {
        copy(work);
        say(await(work));
    }
    return NULL;
}

static void threads(void)
{
    static struct work works[THREADS];
    pthread_t of[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&of[i], NULL, thread, &works[i]) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(of[i], NULL);
}

static struct work outer, inner = {.back = true};

static void handle(int number)
{
    (void)number;
    copy(&inner);
    say(await(&inner));
}

/* What was asked before the handler is another wait than what is asked behind it. */
static void handler(void)
{
    begin(&outer, LONGER);
    begin(&inner, BYTES);
    signal(SIGUSR1, handle);
    for (int i = 0; i < WAITS; i++) {
        unsigned queries = 0;
        copy(&outer);
        while (!is_done(&outer) && ++queries < HANDLED)
            continue;
        if (queries < HANDLED)
            exit(1);
        raise(SIGUSR1);
        say(await(&outer));
    }
}

/* The child is forked in the middle of a wait, and has none of it. */
static void forks(void)
{
    begin(&outer, BYTES);
    for (int i = 0; i < WAITS; i++) {
        unsigned queries = 0;
        copy(&outer);
        while (!is_done(&outer) && ++queries < HANDLED)
            continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            (void)cudaStreamQuery(outer.stream); /* an error there, as with every context */
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            exit(1);
        say(queries + await(&outer));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "handler") == 0)
        handler();
    else if (strcmp(what, "fork") == 0)
        forks();
    else
        return 2;
    return 0;
}
