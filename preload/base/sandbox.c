#include "preload/base/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/real_dlsym.h"

atomic_bool xfs_sandbox_seen;
void (*_Atomic xfs_sandbox_begins)(void);
XFS_TLS bool xfs_no_counter;

typedef int prctl_function(int, ...);
static prctl_function *real_prctl;

/* For syscall.S. */
extern void *xfs_real_syscall __attribute__((visibility("hidden")));
void xfs_sandbox_call(long number, long first, long second) __attribute__((visibility("hidden")));
long xfs_sandbox_failed(long result) __attribute__((visibility("hidden")));
void *xfs_real_syscall;

__attribute__((constructor)) static void find_real(void)
{
    real_prctl = (prctl_function *)xfs_real_dlsym(RTLD_NEXT, "prctl");
    xfs_real_syscall = xfs_real_dlsym(RTLD_NEXT, "syscall");
}

/* Before such a call. */
static void note(int option, unsigned long first)
{
    if ((option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) &&
        !atomic_exchange(&xfs_sandbox_seen, true)) {
        void (*begins)(void) = atomic_load(&xfs_sandbox_begins);
        if (begins)
            begins();
    }
    if ((option == PR_SET_SECCOMP && first == SECCOMP_MODE_STRICT) || option == PR_SET_TSC)
        xfs_no_counter = option != PR_SET_TSC || first == PR_TSC_SIGSEGV;
}

/* A strict mode or a filter, whichever way it is asked for. */
void xfs_sandbox_call(long number, long first, long second)
{
    if (number == SYS_prctl)
        note((int)first, (unsigned long)second);
    else if (first == SECCOMP_SET_MODE_STRICT)
        note(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (first == SECCOMP_SET_MODE_FILTER)
        note(PR_SET_SECCOMP, SECCOMP_MODE_FILTER);
}

long xfs_sandbox_failed(long result)
{
    errno = (int)-result;
    return -1;
}

/* Sanitizers call it before they can watch anything. */
__attribute__((visibility("default"), no_sanitize("thread"))) int prctl(int option, ...)
{
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    note(option, a[0]);
    return real_prctl ? real_prctl(option, a[0], a[1], a[2], a[3])
                      : (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}
