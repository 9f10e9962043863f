/*
 * Processes that start others, or become others, while their threads copy: replaced exec |
 * thread | spawn | vfork | system | daemon | first | again.
 */
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (16 * MIB)
#include "tests/apply/programs/copying.h"

enum { THREADS = 3, ROUNDS = 12 };

extern char **environ;

/* ---- another program in this one's place ------------------------------------------------------
 */

static void become(const char *path, const char *how)
{
    char *const arguments[] = {(char *)path, (char *)how, NULL};
    printf("becomes another\n");
    fflush(stdout);
    execv(path, arguments);
    _exit(9);
}

static void *become_again(void *path)
{
    await(2);
    become(path, "again");
    return NULL;
}

/* ---- others beside it -------------------------------------------------------------------------
 */

static int spawned(const char *text)
{
    char *const arguments[] = {"echo", (char *)text, NULL};
    pid_t pid = -1;
    int status = -1, error = posix_spawnp(&pid, "echo", NULL, NULL, arguments, environ);
    if (error == 0)
        waitpid(pid, &status, 0);
    return error ? -error : status;
}

static int by_vfork(const char *path)
{
    pid_t pid = vfork();
    int status = -1;
    if (pid == 0) {
        execl(path, path, "nothing", (char *)NULL);
        _exit(9);
    }
    waitpid(pid, &status, 0);
    return status;
}

/* The child goes its way without this process, and copies nothing; or makes a session of its own.
 */
static void leave_parent(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid > 0)
        _exit(read(ends[0], &byte, 1) == 1 ? 0 : 8); /* it must be heard to the end */
    setsid();
    printf("the daemon's copy: %d\n", cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    printf("its memory: %d\n", host[BYTES - 1]);
    fflush(stdout);
    if (write(ends[1], "", 1) != 1)
        _exit(7);
    exit(0);
}

static void others(const char *how, const char *path)
{
    for (int i = 0; i < ROUNDS; i++) {
        await(1);
        usleep((unsigned)(i * 211) % 1500);
        fflush(stdout);
        if (strcmp(how, "spawn") == 0)
            printf("spawned: %d\n", spawned("a child"));
        else if (strcmp(how, "vfork") == 0)
            printf("by vfork: %d\n", by_vfork(path));
        else
            printf("by system: %d\n", system("exit 3"));
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "spawn";
    pthread_t made[THREADS], one;
    if (strcmp(how, "nothing") == 0)
        return 0;
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    fill(host, BYTES, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, copy_until_stopped, NULL);
    await(3);
    if (strcmp(how, "exec") == 0)
        become(argv[0], "again");
    if (strcmp(how, "thread") == 0) {
        pthread_create(&one, NULL, become_again, argv[0]);
        pthread_join(one, NULL);
    }
    if (strcmp(how, "first") == 0) { /* the first thread has left, and another one starts it */
        pthread_create(&one, NULL, become_again, argv[0]);
        pthread_exit(NULL);
    }
    if (strcmp(how, "daemon") == 0)
        leave_parent();
    if (strcmp(how, "again") != 0)
        others(how, argv[0]);
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
    printf("last error %d\n", cudaGetLastError());
    return 0;
}
