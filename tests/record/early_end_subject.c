/*
 * The program that early_end_test runs: `subject WHERE`. A thread makes the first call, and while
 * the recorder is getting ready in it, the program ends:
 *
 * "loading": when the libraries are loaded; "created": when the background thread has been made,
 * and the file may be; "refused": when it is about to be made, and then cannot be. "writing": there
 * is none, and a thread has just written a full slab's events itself.
 *
 * The recorder is held there until it has ended; the process lives until all its threads are done.
 * Exits with 0; 9 = the recorder misbehaved.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/record/harness.h"
#include "xferscope/trace.h"

#define CALLS 100
#define MANY_CALLS 20000
#define MISBEHAVED 9
#define EXPORTED __attribute__((visibility("default")))

static enum { NOWHERE, LOADING, CREATED, REFUSED, WRITING } where;
static sem_t held, released, called;
static pid_t first;
static bool ending, was_held, was_loading;
static int callers = 1;           /* threads whose post of `called` is still to be waited for */
static _Thread_local int unlocks; /* until this thread is held */

static void hold(void)
{
    sem_post(&held);
    sem_wait(&released);
}

/* ---- what the recorder calls ------------------------------------------------------------ */

EXPORTED void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *, int);
    if (real == NULL)
        real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    if (where == LOADING) {
        where = NOWHERE;
        was_loading = true;
        hold();
    }
    return real(name, flags);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*run)(void *), void *argument)
{
    static __typeof__(pthread_create) *real;
    if (real == NULL)
        real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
    if (where == WRITING && gettid() != first)
        return EAGAIN;
    if (where == REFUSED && gettid() != first) {
        hold();
        return EAGAIN;
    }
    int error = real(thread, attributes, run, argument);
    if (where == CREATED && gettid() != first)
        hold();
    return error;
}

/* What comes last of a slab: its INDEX. */
EXPORTED ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    struct xft_segment head = {0};
    memcpy(&head, bytes, n < sizeof head ? n : sizeof head);
    if (where == WRITING && gettid() != first && head.magic == XFT_SEGMENT_MAGIC &&
        head.type == XFT_SEG_INDEX && !was_held)
        unlocks = 2; /* the file's, and then the packer's */
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static __typeof__(pthread_mutex_unlock) *real;
    if (real == NULL)
        real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int error = real(mutex);
    if (unlocks > 0 && --unlocks == 0) {
        was_held = true;
        hold();
    }
    return error;
}

/* The end waits for somebody: for the one who is held. It gives up waiting for who writes. */
EXPORTED int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (ending && where == WRITING && gettid() == first)
        return 0;
    if (ending && where != NOWHERE && gettid() == first) {
        where = NOWHERE;
        sem_post(&released);
    }
    int error = clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

/* ---- the program ------------------------------------------------------------------------ */

static void *call(void *unused)
{
    for (uint64_t i = 0; i < CALLS; i++)
        if (!harness_call(i, 0) && was_loading) /* else it may have ended */
            _exit(MISBEHAVED);
    sem_post(&called);
    for (;;)
        pause();
    return unused;
}

static void *start(void *unused)
{
    harness_ready();
    for (uint64_t i = 0; where == WRITING && i < MANY_CALLS; i++)
        harness_call(i, 0);
    sem_post(&called);
    for (;;)
        pause();
    return unused;
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        n += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

/* After all destructors, when libc writes what its streams still hold. */
static ssize_t after_the_end(void *unused, const char *bytes, size_t n)
{
    (void)unused;
    (void)bytes;
    sem_post(&released); /* whom the end did not wait for */
    while (callers-- > 0)
        sem_wait(&called);
    while (count_threads() > 3) /* the background thread, if there is one */
        usleep(1000);
    return (ssize_t)n;
}

__attribute__((destructor)) static void end_begins(void)
{
    ending = true;
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"", "loading", "created", "refused", "writing"};
    pthread_t thread;
    first = gettid();
    sem_init(&held, 0, 0);
    sem_init(&released, 0, 0);
    sem_init(&called, 0, 0);
    FILE *last = fopencookie(NULL, "w", (cookie_io_functions_t){.write = after_the_end});
    for (int i = 1; count > 1 && i < 5; i++)
        if (strcmp(arguments[1], names[i]) == 0)
            where = i;
    if (where == NOWHERE || last == NULL || fputs("end", last) < 0 ||
        pthread_create(&thread, NULL, start, NULL) != 0)
        return MISBEHAVED;
    sem_wait(&held);
    if (where == WRITING)
        return 0;
    if (pthread_create(&thread, NULL, call, NULL) != 0)
        return MISBEHAVED;
    if (was_loading) /* others record: else they wait for the file as well */
        sem_wait(&called);
    else
        callers = 2;
    return 0;
}
