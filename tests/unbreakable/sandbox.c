/*
 * Threads that may not call the kernel: copies under a seccomp filter that kills the process, from
 * ever new places, and what the recorder does then must do without the kernel too. Nothing is
 * linked but libc: the driver is whatever libcuda.so.1 is found.
 *
 *   sandbox HOW WHERE COPIES
 *     HOW    none
 *            strict  SECCOMP_MODE_STRICT
 *            kill
 *            tell    says which call it was, and refuses it
 *     WHERE  same    the thread has made copies before
 *            new     it makes its first ones under the filter
 *            main    the main thread, which then ends the process
 *
 * Under a filter are allowed: leaving, write (to say something), and what the names after COPIES
 * say (futex, ioctl, sched_yield: what a driver needs).
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unbreakable/find_driver.h"

#define COPY_BYTES 256
#define DEPTH 17 /* two ways to go at each: 131072 stacks */
#define BEFORE 10

static struct driver_calls cu;
static xcu_context context;
static xcu_deviceptr on_device;
static char on_host[COPY_BYTES];
static const char *how;
static unsigned copies;
static char **allowed;

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "sandbox: %s: %d\n", what, result);
    exit(1);
}

static void resolve(void)
{
    const char *missing = find_driver(&cu);
    check(missing != NULL, missing);
}

/* ---- the filter --------------------------------------------------------------------------- */

static void on_refusal(int signal, siginfo_t *info, void *machine)
{
    (void)signal, (void)machine;
    char text[] = "refused 000\n";
    for (int i = 10, n = info->si_syscall; i > 7; i--, n /= 10)
        text[i] = (char)('0' + n % 10);
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

static int number_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"futex", SYS_futex}, {"ioctl", SYS_ioctl}, {"sched_yield", SYS_sched_yield}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].number;
    check(2, name);
    return -1;
}

static void shut(void)
{
    struct sock_filter filter[40], *at = filter;
    int numbers[16] = {SYS_exit, SYS_exit_group, SYS_write, SYS_rt_sigreturn}, count = 4;
    if (strcmp(how, "none") == 0)
        return;
    if (strcmp(how, "strict") == 0) {
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict");
        return;
    }
    for (char **name = allowed; *name && count < 16; name++)
        numbers[count++] = number_of(*name);
    unsigned end = strcmp(how, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_TRAP;
    *at++ =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, end);
    struct sock_fprog program = {(unsigned short)(at - filter), filter};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "filter");
}

/* ---- copies ------------------------------------------------------------------------------- */

static __attribute__((noinline)) void copy(void)
{
    if (cu.htod(on_device, on_host, sizeof on_host) != 0)
        syscall(SYS_exit_group, 3);
}

static __attribute__((noinline)) void go(unsigned way, int depth)
{
    if (depth == 0) {
        copy();
    } else if (way & 1) {
        go(way >> 1, depth - 1);
        __asm__ volatile("nop"); /* two calls, and no jumps */
    } else {
        go(way >> 1, depth - 1);
    }
    __asm__ volatile("" ::: "memory");
}

static void *work(void *where)
{
    check(cu.context_set(context), "cuCtxSetCurrent");
    free(malloc(1 << 10)); /* libc makes the thread's own heap */
    if (strcmp(where, "same") == 0)
        for (int i = 0; i < BEFORE; i++)
            copy();
    shut();
    for (unsigned i = 0; i < copies; i++)
        go(i, DEPTH);
    if (strcmp(where, "main") == 0) {
        (void)!write(STDOUT_FILENO, "done\n", 5);
        exit(0);
    }
    syscall(SYS_exit, 0); /* libc's own end asks the kernel for more */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 4)
        return 2;
    how = argv[1];
    copies = (unsigned)atoi(argv[3]);
    allowed = argv + 4;
    struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO};
    check(sigaction(SIGSYS, &action, NULL), "sigaction");
    xcu_device device;
    resolve();
    check(cu.init(0), "cuInit");
    check(cu.device_get(&device, 0), "cuDeviceGet");
    check(cu.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.context_set(context), "cuCtxSetCurrent");
    check(cu.mem_alloc(&on_device, COPY_BYTES), "cuMemAlloc");
    for (int i = 0; i < BEFORE; i++)
        copy();
    if (strcmp(argv[2], "main") == 0)
        work(argv[2]);
    check(pthread_create(&thread, NULL, work, argv[2]), "pthread_create");
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
