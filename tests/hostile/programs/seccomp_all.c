/* Refuses all its threads (TSYNC) to open, to make and to resize files, to leave tables, to make
 * threads and programs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void refuse(void)
{
    static const unsigned refused[] = {
        SYS_openat,           SYS_open,        SYS_creat,  SYS_ftruncate, SYS_fallocate,
        SYS_unshare,          SYS_close_range, SYS_execve, SYS_socket,    SYS_memfd_create,
        SYS_renameat2,        SYS_rename,      SYS_unlink, SYS_unlinkat,  SYS_prctl,
        SYS_process_vm_readv, SYS_move_pages,  SYS_fcntl};
    enum { COUNT = sizeof refused / sizeof *refused };
    struct sock_filter filter[2 * COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        filter[2 * i + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        filter[2 * i + 2] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {2 * COUNT + 2, filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0,
         "filter");
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 500);
}

int main(void)
{
    begin();
    in_threads(2, 0, work);
    refuse();
    say("open: %d, errno %d", open("/dev/null", O_RDONLY), errno);
    in_threads(4, 0, work);
    round_trips(5, 100);
    moved();
    return 0;
}
