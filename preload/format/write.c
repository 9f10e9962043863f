#include "preload/format/write.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

bool xft_within_limit(uint64_t end)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        end <= limit.rlim_cur)
        return true;
    errno = EFBIG;
    return false;
}

bool xft_write_at(int fd, const void *bytes, size_t n, uint64_t at)
{
    const unsigned char *from = bytes;
    if (!xft_within_limit(at + n))
        return false;
    while (n > 0) {
        ssize_t written = pwrite(fd, from, n, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO; /* the kernel gives no reason */
        if (written <= 0)
            return false;
        from += written;
        at += (uint64_t)written;
        n -= (size_t)written;
    }
    return true;
}
