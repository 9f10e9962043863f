#include "analyzer/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_refused(const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return strerror(EISDIR);
    return S_ISREG(status->st_mode) ? NULL : "not a regular file";
}

static int open_regular(const char *path, struct stat *status, const char **why)
{
    /* looked at before it is opened: opening alone does something to some devices */
    if (stat(path, status) != 0) {
        *why = strerror(errno);
        return -1;
    }
    *why = kind_refused(status);
    int fd = *why ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *why = *why ? *why : strerror(errno);
        return -1;
    }
    *why = fstat(fd, status) != 0 ? strerror(errno) : kind_refused(status);
    if (!*why)
        return fd;
    close(fd);
    return -1;
}

int xfa_open_regular(const char *path, const char **why)
{
    struct stat status;
    return open_regular(path, &status, why);
}

/* Its size is a hint: it may grow meanwhile, and files of /proc say 0. */
static char *read_all(int fd, size_t room, size_t most, size_t *bytes, const char **why)
{
    size_t have = 0;
    char *text = malloc(room);
    while (text) {
        ssize_t got = read(fd, text + have, room - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0) {
            *bytes = have;
            return text;
        }
        have += got > 0 ? (size_t)got : 0;
        if (got < 0 || have > most) {
            errno = got < 0 ? errno : EFBIG;
            break;
        }
        char *more = have < room ? text : realloc(text, room *= 2);
        if (!more)
            break;
        text = more;
    }
    *why = strerror(errno);
    free(text);
    return NULL;
}

char *xfa_read_whole(const char *path, size_t most, size_t *bytes, const char **why)
{
    struct stat status;
    char *text = NULL;
    int fd = open_regular(path, &status, why);
    if (fd < 0)
        return NULL;
    if ((unsigned long long)status.st_size > most)
        *why = strerror(EFBIG);
    else
        text = read_all(fd, (size_t)status.st_size + 4096, most, bytes, why);
    close(fd);
    return text;
}
