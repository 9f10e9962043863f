/*
 * Two processes and one piece of device memory: the parent fills it, its child opens it and copies
 * out of it. One line per call (direction, transfers, bytes, what).
 *
 * usage: ipc [DEVICE]     the child's device (default 0; another one needs a peer, and then the
 *                         driver says of the opened memory that it is on the child's device)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime.h>

enum { N = 1 << 20 };

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "ipc: %s: %s\n", what, cudaGetErrorName(error));
        _exit(1);
    }
}

static void copy(const char *direction, void *dst, const void *src, size_t bytes, const char *what)
{
    check(cudaMemcpy(dst, src, bytes, cudaMemcpyDefault), what);
    printf("%s 1 %zu %s\n", direction, bytes, what);
}

static void child(int in, int device)
{
    static unsigned char host[N];
    cudaIpcMemHandle_t handle;
    void *theirs, *ours;

    if (read(in, &handle, sizeof handle) != (ssize_t)sizeof handle)
        _exit(2);
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaIpcOpenMemHandle(&theirs, handle, cudaIpcMemLazyEnablePeerAccess),
          "cudaIpcOpenMemHandle");
    check(cudaMalloc(&ours, N), "cudaMalloc");
    copy("D2H", host, theirs, N, "from the parent's memory");
    copy("D2D", ours, theirs, N / 2, "between the processes");
    copy("H2D", theirs, host, N / 4, "into the parent's memory");
    check(cudaIpcCloseMemHandle(theirs), "cudaIpcCloseMemHandle");
    check(cudaFree(ours), "cudaFree");
    exit(host[0] == 9 ? 0 : 3);
}

static void parent(int out)
{
    static unsigned char host[N];
    cudaIpcMemHandle_t handle;
    void *memory;
    int status;

    memset(host, 9, sizeof host);
    check(cudaMalloc(&memory, N), "cudaMalloc");
    copy("H2D", memory, host, N, "before it is shared");
    fflush(stdout);
    check(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
    if (write(out, &handle, sizeof handle) != (ssize_t)sizeof handle || wait(&status) < 0)
        _exit(4);
    if (status != 0) {
        fprintf(stderr, "ipc: the child ended with status %x\n", (unsigned)status);
        _exit(5);
    }
    check(cudaFree(memory), "cudaFree");
}

int main(int argc, char **argv)
{
    int pipes[2];

    if (pipe(pipes) != 0)
        return 1;
    if (fork() == 0) {
        close(pipes[1]);
        child(pipes[0], argc > 1 ? atoi(argv[1]) : 0);
    }
    close(pipes[0]);
    parent(pipes[1]);
    return 0;
}
