/*
 * What other threads do in the middle of a copy: beside fork | unmap | protect | reset | exit |
 * _exit | abort | quick_exit | streams | free.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (24 * MIB)
#include "tests/apply/programs/copying.h"

enum { THREADS = 3, ROUNDS = 12 };

/* ---- forks ----------------------------------------------------------------------------------- */

/* The child has the source as it is, and no CUDA; a child of its own, too. */
static int in_child(uint64_t sent)
{
    int error = cudaMemcpy(device, host, BYTES, XRT_COPY_H2D);
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D) == error ? 0 : 1);
    waitpid(pid, &status, 0);
    printf("child: %d, its child: %d, memory %s\n", error, status,
           sum(host, BYTES) == sent ? "same" : "different");
    fflush(stdout);
    return 0;
}

static void forks(void)
{
    pthread_t thread;
    int status;
    uint64_t sent = sum(host, BYTES);
    fflush(stdout);
    pthread_create(&thread, NULL, copy_until_stopped, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        await(1);
        usleep((unsigned)(i * 137) % 900);
        pid_t pid = i % 3 == 2 ? vfork() : fork();
        if (pid == 0) {
            if (i % 3 == 2)
                _exit(0);
            _exit(in_child(sent));
        }
        waitpid(pid, &status, 0);
        printf("ended with %d\n", status);
        fflush(stdout);
    }
    stop = 1;
    pthread_join(thread, NULL);
}

/* ---- memory that goes ------------------------------------------------------------------------ */

static char *victim;
static volatile int going;

static void *take_away(void *how)
{
    while (!going)
        usleep(10);
    usleep(200);
    if (strcmp(how, "unmap") == 0)
        munmap(victim + BYTES / 2, BYTES / 2);
    else
        mprotect(victim + BYTES / 2, BYTES / 2, PROT_NONE);
    return NULL;
}

/* The process dies of it, at this copy or at the next one. */
static void memory_goes(const char *how)
{
    pthread_t thread;
    victim = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(victim, 1, BYTES);
    printf("to die\n");
    fflush(stdout);
    pthread_create(&thread, NULL, take_away, (void *)how);
    going = 1;
    for (;;)
        MUST(cudaMemcpy(device, victim, BYTES, XRT_COPY_H2D));
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void at_exit(void)
{
    printf("exit handlers ran\n");
    fflush(stdout);
}

static void ends(const char *how)
{
    pthread_t thread;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, copy_until_stopped, NULL);
    await(3);
    atexit(at_exit);
    at_quick_exit(at_exit);
    printf("ends\n");
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(5);
    abort();
}

/* What the copies return is not looked at: the device is reset beneath them. */
static void *copy_whatever(void *unused)
{
    char *found = malloc(BYTES);
    (void)unused;
    while (!stop) {
        cudaMemcpy(device, host, BYTES, XRT_COPY_H2D);
        cudaMemcpy(found, device, BYTES, XRT_COPY_D2H);
        cudaMemcpyAsync(device, host, BYTES, XRT_COPY_H2D, NULL);
        __atomic_fetch_add(&copies, 1, __ATOMIC_SEQ_CST);
    }
    free(found);
    return NULL;
}

static void resets(void)
{
    pthread_t made[THREADS];
    uint64_t sent = sum(host, BYTES);
    char *found = malloc(BYTES);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, copy_whatever, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        await(1);
        printf("reset: %d\n", cudaDeviceReset());
        MUST(cudaMalloc(&device, BYTES));
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
    MUST(cudaDeviceReset());
    MUST(cudaMalloc(&device, BYTES));
    MUST(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpy(found, device, BYTES, XRT_COPY_D2H));
    printf("source %s, what came back %s\n", sum(host, BYTES) == sent ? "same" : "different",
           sum(found, BYTES) == sent ? "same" : "different");
    free(found);
}

/* Streams are made, used and destroyed beside each other with work on them. */
static void *destroy_streams(void *number)
{
    void *own;
    char *found = malloc(BYTES);
    MUST(cudaMalloc(&own, BYTES));
    for (int i = 0; i < ROUNDS; i++) {
        xcu_stream stream;
        MUST(cudaStreamCreate(&stream));
        MUST(cudaMemcpyAsync(own, host, BYTES, XRT_COPY_H2D, stream));
        MUST(cudaMemcpyAsync(own, host, BYTES, XRT_COPY_H2D, stream));
        MUST(cudaStreamDestroy(stream));
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy(found, own, BYTES, XRT_COPY_D2H));
        if (memcmp(found, host, BYTES) != 0)
            printf("thread %d: different\n", (int)(uintptr_t)number);
    }
    free(found);
    return NULL;
}

static void streams(void)
{
    pthread_t made[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, destroy_streams, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
}

/* Memory that goes at once behind an upload that has read it. */
static void frees(void)
{
    char *found = malloc(BYTES);
    xcu_stream stream;
    MUST(cudaStreamCreate(&stream));
    for (int i = 0; i < ROUNDS; i++) {
        char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fill(block, BYTES, (uint64_t)i);
        uint64_t sent = sum(block, BYTES);
        MUST(cudaMemcpyAsync(device, block, BYTES, XRT_COPY_H2D, stream));
        munmap(block, BYTES);
        MUST(cudaMemcpyAsync(found, device, BYTES, XRT_COPY_D2H, stream));
        if (sum(found, BYTES) != sent)
            printf("round %d: different\n", i);
    }
    free(found);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fork";
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    fill(host, BYTES, 1);
    if (strcmp(how, "fork") == 0)
        forks();
    else if (strcmp(how, "unmap") == 0 || strcmp(how, "protect") == 0)
        memory_goes(how);
    else if (strcmp(how, "reset") == 0)
        resets();
    else if (strcmp(how, "streams") == 0)
        streams();
    else if (strcmp(how, "free") == 0)
        frees();
    else
        ends(how);
    printf("done\n");
    return 0;
}
