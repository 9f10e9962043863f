/*
 * Threads that copy all the time, until the process ends in the way the argument names, or is
 * killed.
 *
 * usage: storm LOG THREADS HOW COPIES
 * HOW: done     every thread copies COPIES times, all are joined
 *      wait     nothing ends it
 *      return exit _exit abort segv kill   the first thread ends the process after its copies
 *      alarm    as done, in one thread, while signals interrupt it whose handler copies too
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"
#include "tests/unbreakable/call_log.h"

static struct call_log *calls;
static uint64_t wanted; /* copies; 0 = for ever */

static void die(const char *what)
{
    fprintf(stderr, "storm: %s\n", what);
    _exit(99);
}

static void copy(int thread, uint64_t copies)
{
    static char bytes[2048];
    void *buffer = NULL;
    if (cudaMalloc(&buffer, sizeof bytes) != 0)
        die("cudaMalloc");
    __atomic_store_n(&calls->buffer[thread], (uint64_t)(uintptr_t)buffer, __ATOMIC_RELEASE);
    for (uint64_t n = 0; copies == 0 || n < copies; n++) {
        if (cudaMemcpy(buffer, bytes, logged_bytes(n), XRT_COPY_H2D) != 0)
            die("cudaMemcpy");
        __atomic_store_n(&calls->returned[thread], n + 1, __ATOMIC_RELEASE);
    }
}

static void *run_thread(void *number)
{
    copy((int)(intptr_t)number, wanted);
    return NULL;
}

static void start_threads(pthread_t *threads, int count)
{
    for (int i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i) != 0)
            die("pthread_create");
}

static void join_threads(pthread_t *threads, int count)
{
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Needs a runtime that holds no lock (fake_cudart.c): this may interrupt another copy. */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    static char bytes[64];
    if (cudaMemcpy((void *)(uintptr_t)LOG_HANDLER, bytes, sizeof bytes, XRT_COPY_H2D) != 0)
        die("cudaMemcpy in a handler");
    calls->handled++;
}

/* Often, and yet so that the program gets on where a signal costs much (virtual machines). */
static void start_interrupting(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    if (setitimer(ITIMER_REAL, &often, NULL) != 0)
        die("setitimer");
}

static void stop_interrupting(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Not known to be no address, as far as the compiler can see. */
static volatile int *volatile nowhere;

static int end(const char *how)
{
    if (strcmp(how, "exit") == 0)
        exit(4);
    if (strcmp(how, "_exit") == 0)
        _exit(5);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        *nowhere = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    return 3;
}

int main(int argc, char **argv)
{
    struct rlimit no_core = {0, 0};
    pthread_t threads[LOG_THREADS];
    if (argc != 5 || atoi(argv[2]) < 1 || atoi(argv[2]) > LOG_THREADS)
        die("usage: storm LOG THREADS HOW COPIES");
    int fd = open(argv[1], O_RDWR), count = atoi(argv[2]);
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (calls == MAP_FAILED)
        die("cannot map the log");
    setrlimit(RLIMIT_CORE, &no_core);
    uint64_t copies = strtoull(argv[4], NULL, 10);
    bool all = strcmp(argv[3], "done") == 0 || strcmp(argv[3], "alarm") == 0;
    wanted = all ? copies : 0;
    bool alarmed = strcmp(argv[3], "alarm") == 0;
    if (alarmed)
        start_interrupting();
    start_threads(threads, count);
    copy(0, strcmp(argv[3], "wait") == 0 ? 0 : copies);
    if (!all)
        return end(argv[3]);
    join_threads(threads, count);
    if (alarmed)
        stop_interrupting();
    printf("%d threads, %llu copies each\n", count, (unsigned long long)copies);
    return 0;
}
