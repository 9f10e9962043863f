/*
 * A quota: preloaded, it lets the process's files grow by QUOTA_BYTES in all and then answers as
 * the kernel does when a user's share of the disk is used up.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>

#define EXPORTED __attribute__((visibility("default")))

static _Atomic long long left = -1;

static int is_spent(long long bytes)
{
    if (atomic_load(&left) < 0) {
        const char *text = getenv("QUOTA_BYTES");
        long long unset = -1;
        atomic_compare_exchange_strong(&left, &unset, text ? atoll(text) : 1 << 30);
    }
    if (atomic_load(&left) >= bytes) {
        atomic_fetch_sub(&left, bytes);
        return 0;
    }
    errno = EDQUOT;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORTED int fallocate(int fd, int mode, off_t at, off_t bytes);
EXPORTED int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    return is_spent(bytes) ? -1 : REAL(fallocate)(fd, mode, at, bytes);
}

EXPORTED int posix_fallocate(int fd, off_t at, off_t bytes);
EXPORTED int posix_fallocate(int fd, off_t at, off_t bytes)
{
    return is_spent(bytes) ? EDQUOT : REAL(posix_fallocate)(fd, at, bytes);
}

EXPORTED ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at);
EXPORTED ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return is_spent((long long)count) ? -1 : REAL(pwrite)(fd, bytes, count, at);
}
