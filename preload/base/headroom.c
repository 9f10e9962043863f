#include "preload/base/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Numbers that are checked: if all of these are in use, few are free below. */
#define MOST_LOOKED_AT 65536

/* From the limit downwards, since the kernel assigns the lowest free number. */
static bool has_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    int end = limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur;
    int begin = end > MOST_LOOKED_AT ? end - MOST_LOOKED_AT : 0, unused = 0;
    for (int fd = end - 1; fd >= begin && unused < XFS_HEADROOM_DESCRIPTORS; fd--)
        unused += fcntl(fd, F_GETFD) < 0 && errno == EBADF;
    return unused == XFS_HEADROOM_DESCRIPTORS;
}

static bool has_memory(void)
{
    void *memory = mmap(NULL, XFS_HEADROOM_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    munmap(memory, XFS_HEADROOM_BYTES);
    return true;
}

bool xfs_has_headroom(void)
{
    int saved = errno;
    bool enough = has_descriptors() && has_memory();
    errno = saved;
    return enough;
}
