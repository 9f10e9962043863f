/*
 * A tree of 50 processes, made in every way there is, each of which copies: number N makes N + 1
 * copies of 1000 + N bytes. Every one also starts children that never use CUDA. Environments are
 * built anew: nothing but what the loader needs to find the CUDA libraries.
 *
 * usage: family [NUMBER]
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"

enum { CHILDREN = 7, GRANDCHILDREN = 6 };

static char self[4096], number_text[16];
static char *fresh[5]; /* the environment of children */

/* The sanitized build's runtime has to be preloaded into everything. */
static void make_environment(void)
{
    static const char *const kept[][2] = {{"LD_LIBRARY_PATH", "LD_LIBRARY_PATH"},
                                          {"FAMILY_PRELOAD", "FAMILY_PRELOAD"},
                                          {"FAMILY_PRELOAD", "LD_PRELOAD"},
                                          {"ASAN_OPTIONS", "ASAN_OPTIONS"}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        const char *value = getenv(kept[i][0]);
        if (value && asprintf(&fresh[n++], "%s=%s", kept[i][1], value) < 0)
            exit(1);
    }
    fresh[n] = NULL;
}

static void copy(int number)
{
    static char bytes[2048];
    void *device = NULL;
    xrt_error error = cudaMalloc(&device, sizeof bytes);
    for (int i = 0; i <= number && error == 0; i++)
        error = cudaMemcpy(device, bytes, 1000 + (size_t)number, XRT_COPY_H2D);
    if (error != 0)
        _exit(90);
}

static void node(int number);

/* ---- ways to make a child ------------------------------------------------------------------ */

static void by_fork(char **argv)
{
    if (fork() == 0) {
        node(atoi(argv[1]));
        _exit(0);
    }
}

static void by_vfork(char **argv)
{
    if (vfork() == 0) {
        execve(self, argv, fresh);
        _exit(91);
    }
}

static void by_spawn(char **argv)
{
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, argv, fresh) != 0)
        exit(92);
}

static void by_spawnp(char **argv)
{
    pid_t child;
    if (posix_spawnp(&child, self, NULL, NULL, argv, fresh) != 0)
        exit(93);
}

static void by_execle(char **argv)
{
    if (fork() == 0) {
        execle(self, argv[0], argv[1], (char *)NULL, fresh);
        _exit(94);
    }
}

/* No environment is passed, but there is none any more. */
static void by_execlp(char **argv)
{
    if (fork() == 0) {
        environ = fresh;
        execlp(self, argv[0], argv[1], (char *)NULL);
        _exit(95);
    }
}

/* As daemons do: another session, no descriptor, another directory; then exec by descriptor. */
static void by_daemon(char **argv)
{
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        umask(0);
        if (chdir("/") != 0)
            _exit(96);
        close_range(0, ~0u, 0);
        int fd = open(self, O_RDONLY);
        fexecve(fd, argv, fresh);
        _exit(97);
    }
}

static void (*const ways[])(char **argv) = {by_fork,   by_vfork,  by_spawn, by_spawnp,
                                            by_execle, by_execlp, by_daemon};

/* ---- the tree ----------------------------------------------------------------------------- */

static void start(int number)
{
    char name[] = "family";
    char *argv[] = {name, number_text, NULL};
    snprintf(number_text, sizeof number_text, "%d", number);
    fflush(stdout);
    ways[(size_t)number % (sizeof ways / sizeof ways[0])](argv);
}

/* Children that leave no trace. */
static void start_others(void)
{
    if (fork() == 0)
        _exit(0);
    if (vfork() == 0) {
        execle("/bin/true", "true", (char *)NULL, fresh);
        _exit(98);
    }
}

static void await_all(void)
{
    int status;
    while (wait(&status) > 0)
        if (status != 0)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
}

/* CUDA is used after the children have been made, as it demands. */
static void node(int number)
{
    int first = number == 0 ? 1 : 1 + CHILDREN + (number - 1) * GRANDCHILDREN;
    int count = number == 0 ? CHILDREN : number <= CHILDREN ? GRANDCHILDREN : 0;
    for (int i = 0; i < count; i++)
        start(first + i);
    start_others();
    copy(number);
    await_all();
}

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return 1;
    self[n] = '\0';
    make_environment();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* daemons come back here, to be waited for */
    node(argc > 1 ? atoi(argv[1]) : 0);
    return 0;
}
