/*
 * The ways a process makes others: children that use CUDA after fork and end with _exit, children
 * that never touch it, exec, vfork and system(). The parent uses CUDA only after its first
 * children, as CUDA demands.
 *
 * usage: forker          all of them
 *        forker copy N   just copies N times
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_api.h"

enum { BYTES = 4096 };

static void copy(int times)
{
    char out[BYTES], in[BYTES];
    void *device = NULL;
    int error = cudaMalloc(&device, BYTES);

    for (int i = 0; i < times && error == 0; i++) {
        memset(out, i + 1, BYTES);
        error = cudaMemcpy(device, out, BYTES, XRT_COPY_H2D);
        if (error == 0)
            error = cudaMemcpy(in, device, BYTES, XRT_COPY_D2H);
        if (error == 0 && memcmp(in, out, BYTES) != 0)
            error = -1;
    }
    if (error == 0)
        error = cudaFree(device);
    printf("%d copies each way: %d\n", times, error);
    fflush(stdout);
}

static void await(pid_t child, const char *what)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("%s: no child\n", what);
        exit(1);
    }
    if (WIFSIGNALED(status))
        printf("%s: signal %d\n", what, WTERMSIG(status));
    else
        printf("%s: status %d\n", what, WEXITSTATUS(status));
    fflush(stdout);
}

static void fork_before_cuda(void)
{
    pid_t child = fork();

    if (child == 0) {
        copy(3);
        _exit(10);
    }
    await(child, "fork before CUDA, _exit");
    child = fork();
    if (child == 0) {
        copy(4);
        exit(11);
    }
    await(child, "fork before CUDA, exit");
}

/* After CUDA is up a child may only do other things. */
static void fork_after_cuda(const char *self)
{
    pid_t child = fork();

    if (child == 0)
        _exit(12);
    await(child, "fork after CUDA, _exit");
    child = fork();
    if (child == 0)
        exit(13);
    await(child, "fork after CUDA, exit");
    child = fork();
    if (child == 0)
        abort();
    await(child, "fork after CUDA, abort");
    child = fork();
    if (child == 0) {
        execl(self, self, "copy", "5", (char *)NULL);
        _exit(127);
    }
    await(child, "fork after CUDA, exec");
}

static void vfork_and_system(const char *self)
{
    char command[4200];
    pid_t child = vfork();

    if (child == 0) {
        execl(self, self, "copy", "6", (char *)NULL);
        _exit(127);
    }
    await(child, "vfork, exec");
    child = vfork();
    if (child == 0)
        _exit(14);
    await(child, "vfork, _exit");
    snprintf(command, sizeof command, "exec '%s' copy 7", self);
    printf("system: %d\n", system(command));
    printf("system without CUDA: %d\n", WEXITSTATUS(system("exit 15")));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (argc == 3 && strcmp(argv[1], "copy") == 0) {
        copy(atoi(argv[2]));
        return 0;
    }
    if (argc != 1 || n < 0) {
        fputs("usage: forker [copy N]\n", stderr);
        return 2;
    }
    self[n] = '\0';
    fork_before_cuda();
    copy(2);
    fork_after_cuda(self);
    vfork_and_system(self);
    copy(1);
    return 0;
}
