#include "tools/xferscope/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/format/write.h"
#include "xferscope/trace.h"

enum { FIRST_SLABS = 4 }; /* as the recorder's, with its usual settings */

/* ---- the lock --------------------------------------------------------------------------- */

/* FNV-1a; a byte that no file system minds. */
static off_t byte_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return (off_t)(hash >> 2);
}

static struct flock on_byte(short type, off_t byte)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

/* Directories cannot be opened for writing, so that only locks for reading are to be had: each
 * takes one and then asks whether it would be alone. Two that ask at once both see the other. */
static enum run_lock lock_once(int folder, off_t byte)
{
    struct flock lock = on_byte(F_RDLCK, byte), other = on_byte(F_WRLCK, byte);

    if (fcntl(folder, F_OFD_SETLK, &lock) != 0 || fcntl(folder, F_OFD_GETLK, &other) != 0)
        return RUN_CANNOT_LOCK;
    if (other.l_type == F_UNLCK)
        return RUN_LOCKED;
    lock = on_byte(F_UNLCK, byte);
    fcntl(folder, F_OFD_SETLK, &lock);
    return RUN_LOCKED_BY_OTHER;
}

/* A process that has the lock keeps it; one that saw another holder tries again after a random
 * time. */
enum run_lock run_place_lock(int folder, const char *name)
{
    enum { TRIES = 20, MOST_WAIT_NS = 10000000 };
    off_t byte = byte_of(name);
    unsigned seed = (unsigned)getpid();
    enum run_lock state = lock_once(folder, byte);

    for (int i = 0; state == RUN_LOCKED_BY_OTHER && i < TRIES; i++) {
        struct timespec wait = {0, rand_r(&seed) % MOST_WAIT_NS};

        nanosleep(&wait, NULL);
        state = lock_once(folder, byte);
    }
    return state;
}

/* ---- the trial -------------------------------------------------------------------------- */

/* A file without a name, or one that loses it at once. */
static int open_nameless(int directory)
{
    int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    fd = openat(directory, "trial", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlinkat(directory, "trial", 0);
    return fd;
}

static int try_file(int directory)
{
    /* A smaller buffer may be set, and then less is enough. */
    const char *buffer = getenv("XFERSCOPE_BUFFER");
    off_t bytes = XFT_HEADER_BYTES + (buffer && *buffer ? 1 : FIRST_SLABS) * XFT_SLAB_BYTES;
    int fd = open_nameless(directory), error = 0;

    if (fd < 0)
        return -1;
    if (!xft_within_limit((uint64_t)bytes) || fallocate(fd, 0, 0, bytes) != 0)
        error = errno;
    if (error == EOPNOTSUPP || error == EINTR)
        error = posix_fallocate(fd, 0, bytes);
    close(fd);
    errno = error;
    return error ? -1 : 0;
}

int run_place_try(int folder, const char *name)
{
    int directory, result = -1, error;

    if (mkdirat(folder, name, 0700) != 0)
        return -1;
    directory = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0)
        result = try_file(directory);
    error = errno;
    if (directory >= 0)
        close(directory);
    unlinkat(folder, name, AT_REMOVEDIR);
    errno = error;
    return result;
}
