/*
 * Preloaded into the command xferscope: runs a shell command just before one of the calls by which
 * it changes what lies in a folder, so that others come in between exactly there.
 *
 * MEDDLE_CALL    renameat, renameat2, unlinkat, mkdirat or fork; any when not set
 * MEDDLE_NUMBER  which of these calls, from 1
 * MEDDLE         the command; $VICTIM is the process that calls
 * MEDDLE_LOG     a file that gets the names of all calls, a line each
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void log_call(const char *name)
{
    const char *path = getenv("MEDDLE_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (dprintf(fd, "%s\n", name) < 0)
        abort();
    close(fd);
}

static void run(const char *command)
{
    pid_t (*real_fork)(void) = (pid_t(*)(void))(uintptr_t)real("fork");
    char victim[32];
    snprintf(victim, sizeof victim, "%d", (int)getpid());
    pid_t child = real_fork();
    if (child == 0) {
        setenv("VICTIM", victim, 1);
        unsetenv("LD_PRELOAD");
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

/* Other programs than the command are left alone. */
static void before(const char *name)
{
    static int calls;
    const char *call = getenv("MEDDLE_CALL"), *number = getenv("MEDDLE_NUMBER"),
               *command = getenv("MEDDLE");
    int error = errno;
    if (strcmp(program_invocation_short_name, "xferscope") == 0) {
        log_call(name);
        if (command && number && (call == NULL || strcmp(call, name) == 0) &&
            ++calls == atoi(number))
            run(command);
    }
    errno = error;
}

EXPORTED int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    int (*next)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))(uintptr_t)real("renameat");
    before("renameat");
    return next(from_folder, from, to_folder, to);
}

EXPORTED int renameat2(int from_folder, const char *from, int to_folder, const char *to,
                       unsigned flags)
{
    int (*next)(int, const char *, int, const char *, unsigned) =
        (int (*)(int, const char *, int, const char *, unsigned))(uintptr_t)real("renameat2");
    before("renameat2");
    return next(from_folder, from, to_folder, to, flags);
}

EXPORTED int unlinkat(int folder, const char *name, int flags)
{
    int (*next)(int, const char *, int) =
        (int (*)(int, const char *, int))(uintptr_t)real("unlinkat");
    before("unlinkat");
    return next(folder, name, flags);
}

EXPORTED int mkdirat(int folder, const char *name, mode_t mode)
{
    int (*next)(int, const char *, mode_t) =
        (int (*)(int, const char *, mode_t))(uintptr_t)real("mkdirat");
    before("mkdirat");
    return next(folder, name, mode);
}

EXPORTED pid_t fork(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))(uintptr_t)real("fork");
    before("fork");
    return next();
}
