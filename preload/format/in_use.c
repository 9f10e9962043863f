#include "preload/format/in_use.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_locked(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* A lease for reading is granted only while nobody has the file open for writing, and a mapping
 * keeps it open. It is released at once; a process that opens the file in between makes the kernel
 * send SIGIO, which is blocked here. */
static bool lease_is_refused(int fd)
{
    sigset_t io, before, pending;
    sigemptyset(&io);
    sigaddset(&io, SIGIO);
    sigemptyset(&pending);
    sigpending(&pending);
    sigprocmask(SIG_BLOCK, &io, &before);
    int status = fcntl(fd, F_SETLEASE, F_RDLCK), error = errno;
    if (status == 0) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
        if (!sigismember(&pending, SIGIO))
            sigtimedwait(&io, NULL, &(struct timespec){0, 0});
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status != 0 && error == EAGAIN; /* anything else: cannot tell */
}

bool xfs_is_open_for_writing(int fd)
{
    return is_locked(fd) || lease_is_refused(fd);
}

/* The process may have executed another program since, or its pid may be another process's. */
bool xfs_is_mapped_by(pid_t pid, const char *path)
{
    char maps[64], *line = NULL;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t room = 0;
    bool mapped = false;
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return false;
    snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(maps, "re");
    if (file == NULL)
        return errno != ENOENT; /* alive, and /proc may not be read */
    while (!mapped && getline(&line, &room, file) > 0)
        mapped = strstr(line, name) != NULL;
    free(line);
    fclose(file);
    return mapped;
}

/* ---- a file that is cut while it is read ----------------------------------------------------- */

static struct {
    uintptr_t start, end; /* of the file in memory */
    sigjmp_buf back;
    struct sigaction before;
} reading;

static void gone(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    if (info->si_code == BUS_ADRERR && at >= reading.start && at < reading.end)
        siglongjmp(reading.back, 1);
    sigaction(number, &reading.before, NULL); /* retried, it reaches that handler */
}

bool xfs_while_there(const void *file, size_t size, void (*work)(void *context), void *context)
{
    struct sigaction action = {.sa_sigaction = gone, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    reading.start = (uintptr_t)file;
    reading.end = reading.start + size;
    bool there = sigsetjmp(reading.back, 1) == 0;
    if (there) {
        sigaction(SIGBUS, &action, &reading.before);
        work(context);
    }
    sigaction(SIGBUS, &reading.before, NULL);
    return there;
}
