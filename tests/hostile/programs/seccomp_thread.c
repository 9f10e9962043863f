/* Threads that a filter kills for any call of the kernel but the few that their own work needs. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void shut(void)
{
    static const unsigned allowed[] = {SYS_exit,   SYS_exit_group,  SYS_write,   SYS_futex,
                                       SYS_ioctl,  SYS_sched_yield, SYS_madvise, SYS_rt_sigprocmask,
                                       SYS_munmap, SYS_rt_sigreturn};
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[2 * COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        filter[2 * i + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        filter[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {2 * COUNT + 2, filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "filter");
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 10);
    if (number > 0)
        shut();
    round_trips(number, 800);
}

int main(void)
{
    begin();
    in_threads(4, 0, work);
    moved();
    return 0;
}
