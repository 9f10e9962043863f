#include "preload/record/notes.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct xfs_notes *notes;

/* Record's number may be another process's by now, and the descriptor any file. */
static bool is_of_run(const char *link, const char *random)
{
    char target[128], wanted[128];
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    snprintf(wanted, sizeof wanted, "/memfd:%s%s (deleted)", XFS_NOTES_NAME, random);
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

static int open_notes(const char *run)
{
    char link[64];
    const char *rest = run;
    int pid = take_number(&rest), owned = take_number(&rest);
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, owned);
    int fd = is_of_run(link, rest) ? open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd); /* its table may be its own */
    if (is_of_run(link, rest))
        return fd;
    close(fd);
    return -1;
}

void xfs_notes_open(const char *run)
{
    struct stat info;
    int fd = notes == NULL && run[0] ? open_notes(run) : -1;
    if (fd < 0)
        return;
    void *map = MAP_FAILED;
    if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof *notes)
        map = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        notes = map;
}

void xfs_notes_begun(const char *directory)
{
    if (notes && strncmp(notes->directory, directory, sizeof notes->directory) == 0)
        __atomic_fetch_add(&notes->begun, 1, __ATOMIC_RELAXED);
}

uint64_t xfs_notes_size(int64_t more)
{
    return notes ? __atomic_add_fetch(&notes->bytes, (uint64_t)more, __ATOMIC_RELAXED) : 0;
}

void xfs_notes_refused(const char *why)
{
    uint32_t none = XFS_WHY_NONE;
    if (notes == NULL)
        return;
    if (__atomic_compare_exchange_n(&notes->why_state, &none, XFS_WHY_BEING_WRITTEN, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        snprintf(notes->why, sizeof notes->why, "%s", why);
        __atomic_store_n(&notes->why_state, XFS_WHY_THERE, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&notes->refused, 1, __ATOMIC_RELEASE);
}
