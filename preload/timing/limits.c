/*
 * A program that limits its own memory (setrlimit and prlimit are wrapped). CUPTI allocates while
 * the program copies, and throws where an allocation fails; the exception ends the program
 * (docs/timing.md, "Little room"). So where little is left below a new limit of the address space
 * or of the data, device times end before it is set.
 *
 * Not seen: limits that another process sets, or that a system call sets directly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/sandbox.h"
#include "preload/timing/timing.h"

#define ROOM_BYTES ((rlim_t)64 << 20) /* that CUPTI may need; it is a guess */
#define STATM_TOTAL 0
#define STATM_DATA 5

/* The number at this place of /proc/self/statm, in bytes; 0: not known. */
static rlim_t size_now(int place)
{
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    char *at = text;
    unsigned long long pages = 0;
    for (int i = 0; i <= place; i++)
        pages = strtoull(at, &at, 10);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Whether this limit of memory (not RLIM_INFINITY) leaves the process, at its present size, less
 * than that. pid 0: this process. Opens a file for a moment. */
static bool is_tight(int process, int resource, const struct rlimit *limit)
{
    if (process != 0 && process != getpid())
        return false;
    if (!xfs_may_call_kernel()) /* how large it is cannot be asked */
        return true;
    rlim_t now = size_now(resource == RLIMIT_AS ? STATM_TOTAL : STATM_DATA);
    return now > 0 && limit->rlim_cur < now + ROOM_BYTES;
}

/* ---- the wrapped functions ------------------------------------------------------------------- */

static void look_at(int process, int resource, const struct rlimit *limit)
{
    int saved = errno;
    if (xfs_timing_needs_memory() && is_tight(process, resource, limit))
        xfs_timing_memory_ends();
    errno = saved;
}

/* Sanitizers set limits before they can watch anything, but none that is looked at. */
#define WRAPPED __attribute__((visibility("default"), no_sanitize("thread", "address")))

/* libc's own set limits by this call, and keep nothing else. */
__attribute__((no_sanitize("thread", "address"))) static int
set(int process, int resource, const struct rlimit *limit, struct rlimit *before)
{
    bool memory = resource == RLIMIT_AS || resource == RLIMIT_DATA;
    if (memory && limit && limit->rlim_cur != RLIM_INFINITY)
        look_at(process, resource, limit);
    return (int)syscall(SYS_prlimit64, process, resource, limit, before);
}

WRAPPED int xfs_setrlimit(__rlimit_resource_t resource,
                          const struct rlimit *limit) __asm__("setrlimit");
int xfs_setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    return set(0, (int)resource, limit, NULL);
}

/* The same: a limit has 64 bits either way. */
WRAPPED extern __typeof__(xfs_setrlimit) xfs_setrlimit64 __asm__("setrlimit64")
    __attribute__((alias("setrlimit")));

WRAPPED int xfs_prlimit(pid_t process, enum __rlimit_resource resource, const struct rlimit *limit,
                        struct rlimit *before) __asm__("prlimit");
int xfs_prlimit(pid_t process, enum __rlimit_resource resource, const struct rlimit *limit,
                struct rlimit *before)
{
    return set(process, (int)resource, limit, before);
}

WRAPPED extern __typeof__(xfs_prlimit) xfs_prlimit64 __asm__("prlimit64")
    __attribute__((alias("prlimit")));
