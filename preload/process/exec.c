/*
 * The wrappers of exec.def. Each completes the environment on its own stack, which goes with the
 * old program, and calls the real function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "preload/process/follow.h"
#include "preload/base/real_dlsym.h"

#define EXPORTED __attribute__((visibility("default")))

/* Those of newer C libraries are declared by ourselves. */
int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags);

#define X(name) static __typeof__(name) *real_##name;
#define SHORT(name)
#include "preload/process/exec.def"
#undef X

/* At the start: a look-up takes the loader's lock, which the child of a vfork must not. */
__attribute__((constructor)) static void find_real_functions(void)
{
#define X(name) real_##name = (__typeof__(real_##name))xfs_real_dlsym(RTLD_NEXT, #name);
#include "preload/process/exec.def"
#undef X
#undef SHORT
}

/* In the wrapper's own frame, since alloca's memory goes when its function returns. */
#define COMPLETE(envp)                                                                             \
    struct xfs_follow_plan plan = xfs_follow_plan(envp);                                           \
    if (plan.bytes > 0)                                                                            \
    envp = xfs_follow_build(&plan, envp, __builtin_alloca(plan.bytes))

/* ---- with an environment ---------------------------------------------------------------- */

static int no_function(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORTED int execve(const char *path, char *const argv[], char *const envp[])
{
    if (real_execve == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_execve ? real_execve(path, argv, envp) : no_function();
}

EXPORTED int execvpe(const char *file, char *const argv[], char *const envp[])
{
    if (real_execvpe == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_execvpe ? real_execvpe(file, argv, envp) : no_function();
}

EXPORTED int fexecve(int fd, char *const argv[], char *const envp[])
{
    if (real_fexecve == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_fexecve ? real_fexecve(fd, argv, envp) : no_function();
}

EXPORTED int execveat(int directory, const char *path, char *const argv[], char *const envp[],
                      int flags)
{
    if (real_execveat == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_execveat ? real_execveat(directory, path, argv, envp, flags) : no_function();
}

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const argv[],
                         char *const envp[])
{
    if (real_posix_spawn == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_posix_spawn ? real_posix_spawn(pid, path, actions, attributes, argv, envp) : ENOSYS;
}

EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[],
                          char *const envp[])
{
    if (real_posix_spawnp == NULL)
        find_real_functions();
    COMPLETE(envp);
    return real_posix_spawnp ? real_posix_spawnp(pid, file, actions, attributes, argv, envp)
                             : ENOSYS;
}

/* ---- with the process's own --------------------------------------------------------------- */

EXPORTED int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORTED int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* ---- arguments one by one ----------------------------------------------------------------- */

static size_t count_arguments(const char *first, va_list rest)
{
    size_t n = first != NULL;
    while (n > 0 && va_arg(rest, const char *) != NULL)
        n++;
    return n;
}

/* argv on the caller's stack, as libc itself does it; `rest` ends behind the terminating NULL. */
#define COLLECT(argv, first, rest)                                                                 \
    va_list rest, counted;                                                                         \
    va_start(rest, first);                                                                         \
    va_copy(counted, rest);                                                                        \
    const size_t count_of_##argv = count_arguments(first, counted);                                \
    va_end(counted);                                                                               \
    char **argv = __builtin_alloca((count_of_##argv + 1) * sizeof *argv);                          \
    argv[0] = (char *)(ptrdiff_t)first;                                                            \
    for (size_t i = 1; i <= count_of_##argv; i++)                                                  \
    argv[i] = va_arg(rest, char *)

EXPORTED int execl(const char *path, const char *first, ...)
{
    COLLECT(argv, first, rest);
    va_end(rest);
    return execve(path, argv, environ);
}

EXPORTED int execlp(const char *file, const char *first, ...)
{
    COLLECT(argv, first, rest);
    va_end(rest);
    return execvpe(file, argv, environ);
}

EXPORTED int execle(const char *path, const char *first, ...)
{
    COLLECT(argv, first, rest);
    char *const *envp = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, argv, envp);
}
