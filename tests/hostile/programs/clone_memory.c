/* Makes processes that share its memory (clone with CLONE_VM, vfork), which write there while it
 * copies. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { STACK = 64 << 10 };

static atomic_int shared;

static int child(void *given)
{
    for (int i = 0; i < 1000; i++)
        shared++;
    syscall(SYS_exit, (long)given);
    return 0;
}

static void work(unsigned number)
{
    if (number > 0) {
        use_gpu();
        round_trips(number, 200);
        return;
    }
    char *stack = malloc(STACK);
    for (long i = 0; i < 8; i++) {
        int flags = (i % 2 ? CLONE_VM : CLONE_VM | CLONE_VFORK) |
                    (i % 4 < 2 ? CLONE_FILES | CLONE_FS : 0) | SIGCHLD;
        int status = 0;
        pid_t process = clone(child, stack + STACK - 64, flags, (void *)i);
        must(process > 0, "clone");
        must(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == i, "its status");
    }
    for (int i = 0; i < 4; i++) {
        pid_t process = vfork();
        if (process == 0) {
            shared += 10;
            _exit(3);
        }
        int status = 0;
        must(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 3, "vfork");
    }
    free(stack);
}

int main(void)
{
    begin();
    in_threads(3, 0, work);
    say("shared %d", (int)shared);
    moved();
    return 0;
}
