#include "preload/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/guard.h"
#include "preload/base/settings.h"

static struct stat stderr_was;
static bool known;

void xfs_log_start(void)
{
    int saved = errno;
    if (!known && fstat(STDERR_FILENO, &stderr_was) == 0)
        known = true;
    errno = saved;
}

static bool is_stderr_ours(void)
{
    struct stat now;
    return known && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_was.st_dev &&
           now.st_ino == stderr_was.st_ino;
}

/* A reader that has gone must not kill the program: SIGPIPE is held back and, if this write caused
 * it, taken away. */
static void write_line(const char *line, size_t bytes)
{
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t written = write(STDERR_FILENO, line, bytes);
    if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* vsnprintf allocates for wide characters and large floating-point fields only; neither is used. */
__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list list)
{
    char line[512] = "xferscope: ";
    size_t start = strlen(line);
    struct xfs_guard guard = xfs_guard_enter();
    if (is_stderr_ours()) {
        int n = vsnprintf(line + start, sizeof line - start - 1, format, list);
        size_t end = n < 0 ? start : start + (size_t)n;
        if (end > sizeof line - 2)
            end = sizeof line - 2;
        line[end++] = '\n';
        write_line(line, end);
    }
    xfs_guard_leave(guard);
}

void xfs_log(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

void xfs_verbose(const char *format, ...)
{
    if (!xfs_settings()->verbose)
        return;
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

bool xfs_once(int *flag)
{
    return !__atomic_exchange_n(flag, 1, __ATOMIC_RELAXED);
}
