/*
 * Copies, then ends in the way the argument names: whatever it is, every copy made before must be
 * in the trace, and whoever waits must see the same end.
 *
 * usage: endings HOW [COPIES]
 * HOW: return exit _exit abort segv kill exec thread closed wait (for a signal)
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime_api.h"

enum { BYTES = 1024 };

static void copy(int times)
{
    static char out[BYTES], in[BYTES];
    void *device = NULL;
    xrt_error error = cudaMalloc(&device, BYTES);

    for (int i = 0; i < times && error == 0; i++) {
        error = cudaMemcpy(device, out, BYTES, XRT_COPY_H2D);
        if (error == 0)
            error = cudaMemcpy(in, device, BYTES, XRT_COPY_D2H);
    }
    printf("%d copies each way: %s\n", times, cudaGetErrorName(error));
    fflush(stdout);
}

static void end_by_exit(int times)
{
    exit(4);
}

static void end_by_quick_exit(int times)
{
    _exit(5);
}

static void end_by_abort(int times)
{
    abort();
}

static void end_by_segv(int times)
{
    raise(SIGSEGV);
}

static void end_by_kill(int times)
{
    raise(SIGKILL);
}

static void end_by_exec(int times)
{
    execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
}

static void *copy_and_leave(void *times)
{
    copy(*(int *)times);
    exit(7);
}

/* The first thread has gone when another one ends the process. */
static void end_by_thread(int times)
{
    static int again;
    pthread_t thread;

    again = times;
    if (pthread_create(&thread, NULL, copy_and_leave, &again) == 0)
        pthread_exit(NULL);
}

/* As daemons do: every descriptor closed and reused, in another directory. */
static void end_by_closed(int times)
{
    int null;

    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    null = open("/dev/null", O_RDWR);
    for (int fd = 3; fd < 64; fd++) {
        if (fd != null)
            dup2(null, fd);
    }
    if (chdir("/") == 0)
        copy(times);
    exit(8);
}

static void end_by_waiting(int times)
{
    pause();
}

static const struct ending {
    const char *name;
    void (*end)(int times);
} endings[] = {
    {"return", NULL},         {"exit", end_by_exit},     {"_exit", end_by_quick_exit},
    {"abort", end_by_abort},  {"segv", end_by_segv},     {"kill", end_by_kill},
    {"exec", end_by_exec},    {"thread", end_by_thread}, {"closed", end_by_closed},
    {"wait", end_by_waiting},
};

int main(int argc, char **argv)
{
    struct rlimit no_core = {0, 0};
    int times = argc > 2 ? atoi(argv[2]) : 100;

    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; argc > 1 && i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(argv[1], endings[i].name) != 0)
            continue;
        copy(times);
        if (endings[i].end)
            endings[i].end(times);
        return 3;
    }
    fputs("usage: endings HOW [COPIES]\n", stderr);
    return 2;
}
