/* Has children that are process 1 of namespaces of their own (processes, mounts, users, host name).
 */
#include <sched.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void run_in(int flags, const char *name)
{
    pid_t middle = fork();
    if (middle == 0) {
        if (unshare(flags) != 0) {
            say("skipped: no namespaces");
            _exit(77);
        }
        pid_t child = fork();
        if (child == 0) {
            must(sethostname("hostile", 7) == 0, "sethostname");
            begin();
            round_trips(0, 100);
            if (flags & CLONE_NEWPID)
                say("process %d", (int)getpid());
            moved();
            _exit(8);
        }
        await(child, "child");
        _exit(0);
    }
    await(middle, name);
}

int main(void)
{
    if (getuid() != 0)
        skip("it takes root to make namespaces");
    run_in(CLONE_NEWPID | CLONE_NEWUTS, "processes");
    run_in(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS, "mounts");
    run_in(CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWIPC, "users");
    return 0;
}
