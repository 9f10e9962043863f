#include "preload/base/command_memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's number may be another process's by now, and the descriptor any file. */
static bool is_meant(const char *link, const char *name, const char *random)
{
    char target[128], wanted[128];
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    snprintf(wanted, sizeof wanted, "/memfd:%s%s (deleted)", name, random);
    return strcmp(target, wanted) == 0;
}

/* A number before a full stop, or -1. */
static int take_number(const char **text)
{
    int n = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && n < 100000000; at++)
        n = 10 * n + *at - '0';
    if (at == *text || *at != '.')
        return -1;
    *text = at + 1;
    return n;
}

static int open_memory(const char *name, const char *which)
{
    char link[64];
    const char *rest = which;
    int pid = take_number(&rest), owned = take_number(&rest);
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, owned);
    int fd =
        is_meant(link, name, rest) ? open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd); /* its table may be its own */
    if (is_meant(link, name, rest))
        return fd;
    close(fd);
    return -1;
}

void *xfs_command_memory(const char *name, const char *which, size_t bytes)
{
    struct stat info;
    int fd = which[0] ? open_memory(name, which) : -1;
    void *map = MAP_FAILED;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && info.st_size >= (off_t)bytes)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}
