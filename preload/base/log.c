#include "preload/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"

static struct stat stderr_was;
static bool known, verbose;

void xfs_log_verbose(bool wanted)
{
    verbose = wanted;
}

void xfs_log_start(void)
{
    int saved = errno;
    if (!known && fstat(STDERR_FILENO, &stderr_was) == 0)
        known = true;
    errno = saved;
}

static bool is_stderr(int fd)
{
    struct stat now;
    return known && fstat(fd, &now) == 0 && now.st_dev == stderr_was.st_dev &&
           now.st_ino == stderr_was.st_ino;
}

/* ---- a thread that has a table of its own -------------------------------------------------- */

static XFS_TLS bool apart;

/* pid: a forked child does not print its parent's lines. */
static struct {
    pid_t pid;
    size_t bytes; /* atomic */
    char text[2048];
} kept;

void xfs_log_apart(void)
{
    apart = true;
}

/* The program's descriptor 2, under another number here; -1 on failure. */
static int borrow_stderr(void)
{
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
    if (process >= 0)
        close(process);
    return fd;
}

static void keep(const char *line, size_t bytes)
{
    size_t before = kept.pid == getpid() ? kept.bytes : 0;
    if (bytes > sizeof kept.text - before)
        return;
    kept.pid = getpid();
    memcpy(kept.text + before, line, bytes);
    __atomic_store_n(&kept.bytes, before + bytes, __ATOMIC_RELEASE);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* A pipe without a reader must not kill the program: SIGPIPE is blocked and, if this write caused
 * it, consumed. */
static void write_line(int fd, const char *line, size_t bytes)
{
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t written = write(fd, line, bytes);
    if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void write_apart(const char *line, size_t bytes)
{
    int fd = borrow_stderr();
    if (fd < 0)
        keep(line, bytes);
    else if (is_stderr(fd))
        write_line(fd, line, bytes);
    if (fd >= 0)
        close(fd);
}

void xfs_log_say_kept(void)
{
    struct xfs_guard guard = xfs_guard_enter();
    size_t bytes = __atomic_exchange_n(&kept.bytes, 0, __ATOMIC_ACQUIRE);
    if (bytes > 0 && kept.pid == getpid() && is_stderr(STDERR_FILENO))
        write_line(STDERR_FILENO, kept.text, bytes);
    xfs_guard_leave(guard);
}

struct line {
    const char *format;
    va_list *list;
};

/* vsnprintf allocates for wide characters and large floating-point fields only; neither is used. */
static void write_formatted(void *argument)
{
    const struct line *said = argument;
    char line[512] = "xferscope: ";
    size_t start = strlen(line);
    /* started by the caller, which the analyzer does not see through the pointer */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    int n = vsnprintf(line + start, sizeof line - start - 1, said->format, *said->list);
    size_t end = n < 0 ? start : start + (size_t)n;
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    line[end++] = '\n';
    if (apart)
        write_apart(line, end);
    else
        write_line(STDERR_FILENO, line, end);
}

static void say(const char *format, va_list *list)
{
    struct xfs_guard guard = xfs_guard_enter();
    if (apart || is_stderr(STDERR_FILENO))
        xfs_on_any_stack(write_formatted, &(struct line){format, list});
    xfs_guard_leave(guard);
}

void xfs_log(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, &list);
    va_end(list);
}

void xfs_verbose(const char *format, ...)
{
    if (!verbose)
        return;
    va_list list;
    va_start(list, format);
    say(format, &list);
    va_end(list);
}

bool xfs_once(int *flag)
{
    return !__atomic_exchange_n(flag, 1, __ATOMIC_RELAXED);
}
