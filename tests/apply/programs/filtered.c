/*
 * System calls that a filter refuses or kills for, none of which the program makes itself: filtered
 * refuse | kill | some [late]. Installed by the system call, which needs no prctl of libc, by root.
 * Children and threads that are made later have it; "late" begins when copies are on their way.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apply/programs/restricted.h"

#define COUNT(table) ((unsigned short)(sizeof table / sizeof *(table)))
enum { ROUNDS = 6 };

/* What helps, and what can be done without. */
static const unsigned refused[] = {SYS_madvise,
                                   SYS_mincore,
                                   SYS_mlock,
                                   SYS_mbind,
                                   SYS_set_mempolicy,
                                   SYS_get_mempolicy,
                                   SYS_sched_setaffinity,
                                   SYS_sched_getaffinity,
                                   SYS_memfd_create,
                                   SYS_unshare,
                                   SYS_prctl,
                                   SYS_tgkill,
                                   SYS_clone3,
                                   SYS_clone,
                                   SYS_sysinfo,
                                   SYS_prlimit64};
static const unsigned some[] = {SYS_madvise, SYS_mincore, SYS_sched_getaffinity, SYS_unshare};

static void install(const unsigned *calls, unsigned short count, unsigned action)
{
    struct sock_filter filter[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short at = 1;
    for (unsigned short i = 0; i < count; i++, at++)
        filter[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
                                                  (unsigned char)(count - i), 0);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    struct sock_fprog program = {at, filter};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        printf("no filter: %s\n", strerror(errno));
}

static void restrict_to(const char *how)
{
    if (strcmp(how, "refuse") == 0)
        install(refused, COUNT(refused), SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(how, "some") == 0)
        install(some, COUNT(some), SECCOMP_RET_ERRNO | ENOSYS);
    else
        install(refused, COUNT(refused), SECCOMP_RET_KILL_PROCESS);
}

int main(int argc, char **argv)
{
    return copy_restricted(argc, argv, "refuse", restrict_to, ROUNDS);
}
