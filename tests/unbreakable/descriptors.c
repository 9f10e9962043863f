/*
 * A program that deals with descriptors by their numbers, as if all of them were its own.
 *
 *   descriptors storm FILE COPIES   a thread copies; until it is done, another one makes every
 * number from 4 on FILE's, and closes them again descriptors list COPIES         which numbers are
 * open, before the first call of CUDA, after copies, and as the last exit handler runs; and whether
 * a pipe ends that was open at that first call and is closed now descriptors exit COPIES ends in
 * the main thread when the other threads have made so many copies together, and while they go on
 *
 * Before that, any number of times: refuse CALL ERROR, a filter of system calls (close_range,
 * unshare, pidfd_getfd) that answers with that error. It is set up past the C library, as one is
 * that a process has from its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/programs/runtime_api.h"

#define COPY_BYTES 64
#define NUMBERS 1000
#define LEAST_ROUNDS 10
#define THREADS 6

static void *on_device;
static char on_host[4096];
static long copies;
static atomic_long made;
static atomic_bool done;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "descriptors: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void allocate(void)
{
    check(cudaMalloc(&on_device, sizeof on_host) == 0, "cudaMalloc");
}

static void copy(long n)
{
    for (long i = 0; i < n; i++)
        check(cudaMemcpy(on_device, on_host, COPY_BYTES, 1) == 0, "cudaMemcpy");
}

/* ---- filters ------------------------------------------------------------------------------ */

static unsigned call_of(const char *name)
{
    if (strcmp(name, "close_range") == 0)
        return SYS_close_range;
    if (strcmp(name, "unshare") == 0)
        return SYS_unshare;
    check(strcmp(name, "pidfd_getfd") == 0, name);
    return SYS_pidfd_getfd;
}

/* Past libc, so that the recorder does not take it for a sandbox: the filter plays an old kernel.
 */
static long past_libc(long number, long first, long second, const void *third)
{
    register long fourth __asm__("r10") = 0, fifth __asm__("r8") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
}

static void refuse(const char *name, unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_of(name), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    check(past_libc(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, NULL) == 0, "no new privileges");
    check(past_libc(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "filter");
}

/* ---- storm -------------------------------------------------------------------------------- */

static void *copy_all(void *unused)
{
    copy(copies);
    done = true;
    return unused;
}

static void storm(const char *path)
{
    pthread_t thread;
    allocate();
    copy(1);
    int keep = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(keep >= 0 && dup2(keep, 3) == 3 && write(3, "ABCDEFGH", 8) == 8, path);
    check(pthread_create(&thread, NULL, copy_all, NULL) == 0, "thread");
    for (int rounds = 0; !done || rounds < LEAST_ROUNDS; rounds++) {
        for (int fd = 4; fd < NUMBERS; fd++)
            check(dup2(3, fd) == fd, "dup2");
        closefrom(4);
    }
    pthread_join(thread, NULL);
}

/* ---- list --------------------------------------------------------------------------------- */

/* By asking for each: a list of the folder would be one more. */
static void list(const char *when)
{
    printf("%s:", when);
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf(" %d", fd);
    printf("\n");
}

static void list_at_exit(void)
{
    list("at the end");
}

static void list_all(void)
{
    int ends[2];
    char byte;
    atexit(list_at_exit);
    check(pipe2(ends, O_NONBLOCK) == 0, "pipe");
    list("before");
    allocate();
    copy(copies);
    list("after");
    close(ends[1]);
    printf("the pipe %s\n", read(ends[0], &byte, 1) == 0 ? "ends" : "does not end");
    close(ends[0]);
}

/* ---- exit --------------------------------------------------------------------------------- */

static void *go_on(void *unused)
{
    for (;;) {
        copy(1);
        made++;
    }
    return unused;
}

static void exit_amid(void)
{
    pthread_t thread;
    allocate();
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&thread, NULL, go_on, NULL) == 0, "thread");
    while (made < copies)
        sched_yield();
    printf("%ld\n", (long)made);
    exit(7);
}

int main(int count, char **words)
{
    for (; count > 3 && strcmp(words[1], "refuse") == 0; count -= 3, words += 3)
        refuse(words[2], (unsigned)atoi(words[3]));
    check(count > 2, "usage");
    copies = atol(words[count - 1]);
    if (strcmp(words[1], "list") == 0)
        list_all();
    else if (strcmp(words[1], "exit") == 0)
        exit_amid();
    else
        storm(words[2]);
    return 0;
}
