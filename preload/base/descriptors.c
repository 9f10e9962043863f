#include "preload/base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/listing.h"
#include "preload/base/log.h"
#include "preload/base/sandbox.h"

#define UNSHARE 2u          /* CLOSE_RANGE_UNSHARE */
#define MOST_UNLISTED 65536 /* numbers tried when /proc cannot list them */

/* The list ascends by number: closing does not change the entries still to come. */
static bool close_listed(void)
{
    _Alignas(struct xfs_entry) char list[4096];
    int listing = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listing < 0)
        return false;
    for (long got; (got = syscall(SYS_getdents64, listing, list, sizeof list)) > 0;) {
        for (long at = 0; at < got;) {
            int fd = xfs_entry_number(list, &at); /* 0: "." and "..", or closed before */
            if (fd != listing)
                close(fd);
        }
    }
    close(listing);
    return true;
}

/* Closes copies of the program's descriptors: its pipes would not reach their end while these are
 * open. */
static void close_copies(void)
{
    close(0); /* makes room for the listing's own */
    if (close_listed())
        return;
    for (int fd = 0; fd < MOST_UNLISTED; fd++)
        close(fd);
}

/* The second way is for kernels before 5.9, which copy the table. POSIX locks belong to the table:
 * closing copies releases none of the program's. */
static bool leave_table(void)
{
    if (syscall(SYS_close_range, 0u, UINT_MAX, UNSHARE) == 0)
        return true;
    if (unshare(CLONE_FILES) != 0)
        return false;
    close_copies();
    return true;
}

/* Libraries write messages to these numbers: they must not end up in our files. */
static void take_up_first(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (epoll_create1(EPOLL_CLOEXEC) < 0)
            return;
}

bool xfs_own_descriptors(void)
{
    if (!xfs_may_call_kernel()) { /* what open() is allowed these may be forbidden on pain of death
                                   */
        errno = EPERM;
        return false;
    }
    if (!leave_table())
        return false;
    xfs_log_apart();
    take_up_first();
    return true;
}
