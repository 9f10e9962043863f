/*
 * Ranges open when recording begins: of the thread that makes the first CUDA call, of another
 * thread, of a forked child, and nested more deeply than is kept. errno stays what it was.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"
#include "runtime_api.h"

static char host[4096];
static void *device;
static pthread_barrier_t barrier;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "nvtx_early: %s\n", what);
        exit(1);
    }
}

static void copy_in(size_t bytes)
{
    check(cudaMemcpy(device, host, bytes, XRT_COPY_H2D) == 0, "cudaMemcpy");
}

static void *other_thread(void *unused)
{
    /* What ends is the innermost of its domain, not the innermost of all. */
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxStringHandle_t brief = nvtxDomainRegisterStringA(domain, "over before CUDA");
    nvtxEventAttributes_t attributes = {.version = 2,
                                        .size = sizeof attributes,
                                        .message_type = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message = brief};
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePushA("other thread");
    nvtxDomainRangePop(domain);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* CUDA is in use now */
    copy_in(32);
    nvtxRangePop();
    copy_in(1);
    return unused;
}

/* It ends before recording begins: what it had open is nobody's. */
static void *short_thread(void *unused)
{
    nvtxRangePushA("never to be seen");
    return unused;
}

static void child(void)
{
    check(cudaMalloc(&device, sizeof host) == 0, "cudaMalloc");
    copy_in(16);
    nvtxRangePop();
    copy_in(2);
    exit(0);
}

static void run_child(void)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        child();
    check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child");
}

int main(void)
{
    pthread_t other, brief;
    errno = 77;
    nvtxRangePushA("main");
    for (int i = 0; i < 100; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < 100; i++)
        nvtxRangePop();
    nvtxRangePushA("inner");
    nvtxRangePop();
    check(errno == 77, "errno");
    run_child();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&brief, NULL, short_thread, NULL);
    pthread_join(brief, NULL);
    pthread_create(&other, NULL, other_thread, NULL);
    pthread_barrier_wait(&barrier);
    check(cudaMalloc(&device, sizeof host) == 0, "cudaMalloc");
    copy_in(64);
    errno = 78;
    nvtxRangePop();
    nvtxRangePushA("late");
    check(errno == 78, "errno");
    copy_in(8);
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    puts("done");
    return 0;
}
