/*
 * Limits of memory that the program sets itself while records come.
 *
 * CUPTI hands buffers over in a thread of its own, whose thread-local data libc allocates when it
 * is first needed, and ends the process when it cannot. So before a limit is set, CUPTI is asked
 * for what it has: its thread then has what it needs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/real_dlsym.h"
#include "preload/timing/timing.h"

#define EXPORTED __attribute__((visibility("default")))

typedef int setrlimit_function(int resource, const struct rlimit *limit);
typedef int prlimit_function(pid_t pid, int resource, const struct rlimit *limit,
                             struct rlimit *before);
static setrlimit_function *real_setrlimit;
static prlimit_function *real_prlimit;

__attribute__((constructor)) static void find_functions(void)
{
    real_setrlimit = (setrlimit_function *)xfs_real_dlsym(RTLD_NEXT, "setrlimit");
    real_prlimit = (prlimit_function *)xfs_real_dlsym(RTLD_NEXT, "prlimit");
}

static void look_at(int resource, const struct rlimit *limit)
{
    if ((resource == RLIMIT_AS || resource == RLIMIT_DATA) && limit != NULL &&
        limit->rlim_cur != RLIM_INFINITY)
        xfs_timing_memory_limited();
}

static int set(int resource, const struct rlimit *limit)
{
    look_at(resource, limit);
    return real_setrlimit ? real_setrlimit(resource, limit)
                          : (int)syscall(SYS_prlimit64, 0, resource, limit, NULL);
}

static int set_and_get(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *before)
{
    if (pid == 0 || pid == getpid())
        look_at(resource, limit);
    return real_prlimit ? real_prlimit(pid, resource, limit, before)
                        : (int)syscall(SYS_prlimit64, pid, resource, limit, before);
}

/* On x86-64 struct rlimit64 is the same. By other names, since libc's headers give these types of
 * their own. */
#define NAMED(function, name) __typeof__(function) function##_##name __asm__(#name) EXPORTED;
NAMED(set, setrlimit)
NAMED(set, setrlimit64)
NAMED(set_and_get, prlimit)
NAMED(set_and_get, prlimit64)

int set_setrlimit(int resource, const struct rlimit *limit)
{
    return set(resource, limit);
}

int set_setrlimit64(int resource, const struct rlimit *limit)
{
    return set(resource, limit);
}

int set_and_get_prlimit(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *before)
{
    return set_and_get(pid, resource, limit, before);
}

int set_and_get_prlimit64(pid_t pid, int resource, const struct rlimit *limit,
                          struct rlimit *before)
{
    return set_and_get(pid, resource, limit, before);
}
