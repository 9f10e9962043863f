#include "preload/base/last_thread.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/guard.h"
#include "preload/base/listing.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/sandbox.h"

#define MOST_OWN 8
#define LOOKS_EVERY_NS 20000000u
#define LOOKS 2 /* consecutive checks: a list is not read at one moment */

static pthread_t first;
static atomic_int own[MOST_OWN]; /* by kernel's number; 0: none */
static atomic_bool watched, leaving, keeps;
static sem_t alone;
static sigset_t mask; /* the first thread's */
static uint64_t next_look_ns;
static unsigned looks;

/* ---- the library's threads ------------------------------------------------------------------- */

bool xfs_last_thread_own(void)
{
    int number = (int)gettid();
    for (int i = 0, none = 0; i < MOST_OWN; i++, none = 0)
        if (atomic_compare_exchange_strong(&own[i], &none, number))
            return true;
    return false;
}

void xfs_last_thread_watched(void)
{
    if (xfs_last_thread_own())
        atomic_store(&watched, true);
}

static bool is_own(int number)
{
    for (int i = 0; i < MOST_OWN; i++)
        if (atomic_load(&own[i]) == number)
            return true;
    return false;
}

/* ---- what keeps the descriptors -------------------------------------------------------------- */

static void *keep(void *unused)
{
    pthread_setname_np(pthread_self(), "xferscope-last");
    if (!xfs_last_thread_own())
        return NULL;
    while (sem_wait(&alone) != 0)
        ;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    exit(EXIT_SUCCESS);
}

/* Its stack has the default size for threads: exit handlers run on it. */
static void make_keeper(void)
{
    sigset_t all;
    pthread_t thread;
    if (atomic_exchange(&keeps, true))
        return;
    sem_init(&alone, 0, 0);
    sigfillset(&all); /* the program's handlers run in the program's threads */
    pthread_sigmask(SIG_BLOCK, &all, &mask);
    if (pthread_create(&thread, NULL, keep, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* This function and xfs_thread_leaves() may run at once: at least one sees what the other stored.
 */
void xfs_last_thread_begun(void)
{
    if (atomic_load(&leaving) && atomic_load(&watched))
        make_keeper();
}

void xfs_thread_leaves(void)
{
    if (!pthread_equal(pthread_self(), first) || !xfs_may_call_kernel())
        return;
    struct xfs_guard guard = xfs_guard_enter();
    atomic_store(&leaving, true);
    if (atomic_load(&watched))
        make_keeper();
    xfs_guard_leave(guard);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A first thread that has ended is a zombie while others run. */
static bool first_has_left(void)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") Z", 3) == 0;
}

static bool are_own(const char *list, long bytes)
{
    for (long at = 0; at < bytes;) {
        int number = xfs_entry_number(list, &at);
        if (number != 0 && number != (int)getpid() && !is_own(number))
            return false;
    }
    return true;
}

/* The library has few threads: a list longer than one read has others. */
static bool none_but_own(void)
{
    _Alignas(struct xfs_entry) char list[2048];
    int listing = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listing < 0)
        return false;
    long got = syscall(SYS_getdents64, listing, list, sizeof list);
    bool good = got > 0 && are_own(list, got);
    good = good && syscall(SYS_getdents64, listing, list, sizeof list) == 0;
    close(listing);
    return good && first_has_left();
}

void xfs_last_thread_look(uint64_t now_ns)
{
    if (!atomic_load(&keeps) || now_ns < next_look_ns || !xfs_may_call_kernel())
        return;
    next_look_ns = now_ns + LOOKS_EVERY_NS;
    looks = none_but_own() ? looks + 1 : 0;
    if (looks == LOOKS)
        sem_post(&alone);
}

/* ---- pthread_exit ---------------------------------------------------------------------------- */

typedef void exit_function(void *);
static __attribute__((noreturn)) exit_function *real_exit;

/* The child of a fork has one thread, its first; and none of ours. */
static void in_child(void)
{
    first = pthread_self();
    for (int i = 0; i < MOST_OWN; i++)
        atomic_store(&own[i], 0);
    atomic_store(&watched, false);
    atomic_store(&leaving, false);
    atomic_store(&keeps, false);
    next_look_ns = 0;
    looks = 0;
}

static void find_exit(void)
{
    *(void **)&real_exit = xfs_real_dlsym(RTLD_NEXT, "pthread_exit");
}

__attribute__((constructor)) static void begin(void)
{
    first = pthread_self();
    find_exit();
    pthread_atfork(NULL, NULL, in_child);
}

/* Threads with a lane call xfs_thread_leaves() however they end (record/events.c): the first thread
 * may have no lane. */
__attribute__((visibility("default"), noreturn)) void pthread_exit(void *result)
{
    xfs_thread_leaves();
    if (real_exit == NULL) /* called before the constructor */
        find_exit();
    real_exit(result);
}
