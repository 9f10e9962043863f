/*
 * Processes that have little: limited locked | space | threads | descriptors | seccomp | strict |
 * stack | memory. The limits are set before the copies, or between them (argument "late").
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apply/programs/restricted.h"

enum { ROUNDS = 10 };

static void set(int what, rlim_t most)
{
    struct rlimit limit;
    getrlimit(what, &limit);
    limit.rlim_cur = most;
    if (setrlimit(what, &limit) != 0)
        printf("setrlimit: %s\n", strerror(errno));
}

/* No new thread and no new process from here on: EPERM, as in some containers. */
static void refuse_clone(int code)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, (unsigned)code),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        printf("no filter: %s\n", strerror(errno));
}

static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        exit(1);
    fclose(file);
    return (rlim_t)pages * 4096;
}

static void limit(const char *what)
{
    if (strcmp(what, "locked") == 0)
        set(RLIMIT_MEMLOCK, 65536);
    else if (strcmp(what, "space") == 0)
        set(RLIMIT_AS, address_space() + 3 * MIB);
    else if (strcmp(what, "threads") == 0 && (getuid() != 0 || setuid(65534) == 0)) /* not root */
        set(RLIMIT_NPROC, 0);
    else if (strcmp(what, "descriptors") == 0)
        set(RLIMIT_NOFILE, 3);
    else if (strcmp(what, "seccomp") == 0)
        refuse_clone(SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(what, "strict") == 0)
        refuse_clone(SECCOMP_RET_KILL_PROCESS);
    else if (strcmp(what, "stack") == 0)
        set(RLIMIT_STACK, 64 << 10);
    else if (strcmp(what, "memory") == 0)
        set(RLIMIT_DATA, 1 << 20);
}

int main(int argc, char **argv)
{
    return copy_restricted(argc, argv, "locked", limit, ROUNDS);
}
