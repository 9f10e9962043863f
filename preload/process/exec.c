/*
 * The wrappers of exec.def. Each completes the environment and calls the real function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

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

/*
 * `call` with the environment completed as `environment`; with the program's own where that made it
 * too large for the kernel (`too_large`, which sees `status`).
 */
#define CALL_COMPLETED(envp, call, too_large)                                                      \
    struct xfs_follow follow;                                                                      \
    char *const *environment = xfs_follow_begin(&follow, envp);                                    \
    int status = call;                                                                             \
    xfs_follow_end(&follow);                                                                       \
    if (environment != (envp) && (too_large)) {                                                    \
        environment = envp;                                                                        \
        status = call;                                                                             \
    }                                                                                              \
    return status

/* ---- with an environment ---------------------------------------------------------------- */

static int no_function(void)
{
    errno = ENOSYS;
    return -1;
}

/* The child of a vfork does not return from here, and its parent continues above these frames:
 * removes the address sanitizer's marks around them. */
static inline void leave_frames(void)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_handle_no_return();
#endif
}

#define CALL_EXEC(name, ...)                                                                       \
    if (real_##name == NULL)                                                                       \
        find_real_functions();                                                                     \
    if (real_##name == NULL)                                                                       \
        return no_function();                                                                      \
    CALL_COMPLETED(envp, (leave_frames(), real_##name(__VA_ARGS__)), status < 0 && errno == E2BIG)

#define CALL_SPAWN(name, ...)                                                                      \
    if (real_##name == NULL)                                                                       \
        find_real_functions();                                                                     \
    if (real_##name == NULL)                                                                       \
        return ENOSYS;                                                                             \
    CALL_COMPLETED(envp, real_##name(__VA_ARGS__), status == E2BIG)

EXPORTED int execve(const char *path, char *const argv[], char *const envp[])
{
    CALL_EXEC(execve, path, argv, environment);
}

EXPORTED int execvpe(const char *file, char *const argv[], char *const envp[])
{
    CALL_EXEC(execvpe, file, argv, environment);
}

EXPORTED int fexecve(int fd, char *const argv[], char *const envp[])
{
    CALL_EXEC(fexecve, fd, argv, environment);
}

EXPORTED int execveat(int directory, const char *path, char *const argv[], char *const envp[],
                      int flags)
{
    CALL_EXEC(execveat, directory, path, argv, environment, flags);
}

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const argv[],
                         char *const envp[])
{
    CALL_SPAWN(posix_spawn, pid, path, actions, attributes, argv, environment);
}

EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[],
                          char *const envp[])
{
    CALL_SPAWN(posix_spawnp, pid, file, actions, attributes, argv, environment);
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
