/*
 * Forks while other threads copy all the time, so that whatever the recorder was doing is half done
 * in the child, which copies as well. Child number N makes N % 7 + 1 copies of 5000 + N bytes;
 * every third makes none. Needs a runtime without locks (fake_cudart.c): a child inherits none that
 * is held.
 *
 * usage: forks CHILDREN
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"

enum { THREADS = 4, LIMIT_S = 60 };

static atomic_bool over;
static atomic_ulong made;

static void *copy_on(void *unused)
{
    static char bytes[64];
    void *buffer = NULL;
    if (cudaMalloc(&buffer, sizeof bytes) != 0)
        _exit(90);
    while (!atomic_load(&over)) {
        if (cudaMemcpy(buffer, bytes, sizeof bytes, XRT_COPY_H2D) != 0)
            _exit(91);
        atomic_fetch_add(&made, 1);
    }
    return unused;
}

/* A child that waits for a lock which nobody will give back is ended by its alarm. */
static void child(int number)
{
    static char bytes[8192];
    void *buffer = NULL;
    alarm(LIMIT_S);
    if (number % 3 == 0)
        _exit(0);
    if (cudaMalloc(&buffer, sizeof bytes) != 0)
        _exit(92);
    for (int i = 0; i <= number % 7; i++)
        if (cudaMemcpy(buffer, bytes, 5000 + (size_t)number, XRT_COPY_H2D) != 0)
            _exit(93);
    _exit(0);
}

static void fork_children(int count)
{
    for (int i = 0; i < count; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            child(i);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
            printf("child %d ended with status %x\n", i, (unsigned)status);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, copy_on, NULL) != 0)
            return 2;
    while (atomic_load(&made) == 0)
        usleep(100);
    fork_children(argc > 1 ? atoi(argv[1]) : 1);
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lu copies by the parent\n", atomic_load(&made));
    return 0;
}
