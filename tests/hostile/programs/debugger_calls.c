/* Its parent stops it at every call of the kernel and counts the stops of its main thread while it
 * copies. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { MARK = 0x7fffff01 }; /* of no process: asked for twice, it marks the part that is counted */
static void copy_on(int go)
{
    char byte;
    must(read(go, &byte, 1) == 1, "to be debugged");
    begin();
    round_trips(0, 100);
    syscall(SYS_getpgid, MARK);
    round_trips(0, 300);
    syscall(SYS_getpgid, MARK);
    moved();
    _exit(4);
}

/* Of its main thread, between the marks. */
static long count_calls(pid_t child, int *status)
{
    long calls = 0, marks = 0;
    while (waitpid(child, status, 0) == child && WIFSTOPPED(*status)) {
        struct __ptrace_syscall_info info = {0};
        int number = WSTOPSIG(*status);
        bool passed_on = number != SIGTRAP && !(number & 0x80);
        if (number == (SIGTRAP | 0x80) &&
            ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 &&
            info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            if (info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK)
                marks++;
            else
                calls += marks == 1;
        }
        ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)(passed_on ? number : 0));
    }
    return calls;
}

int main(void)
{
    void *options = (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    int status = 0, pipes[2];
    must(pipe(pipes) == 0, "pipe");
    pid_t child = fork();
    if (child == 0)
        copy_on(pipes[0]);
    if (ptrace(PTRACE_SEIZE, child, NULL, options) != 0) {
        kill(child, SIGKILL);
        skip("debugging is not allowed");
    }
    must(ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0, "interrupt");
    must(write(pipes[1], "!", 1) == 1, "write");
    long calls = count_calls(child, &status);
    if (simulated())
        say("calls of the kernel while it copied: %ld", calls);
    say("ended: %x", status);
    return 0;
}
