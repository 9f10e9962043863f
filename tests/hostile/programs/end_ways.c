/* Children that copy and end in every way there is: exit, _exit, quick_exit, abort, a fault,
 * SIGKILL, exit in a thread. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void *leave(void *unused)
{
    exit(14);
    return unused;
}

static void at_quick_exit_(void)
{
    say("at quick exit");
}

static void end(int how)
{
    pthread_t thread;
    volatile int *nowhere = NULL;
    switch (how) {
    case 0:
        exit(10);
    case 1:
        _exit(11);
    case 2:
        at_quick_exit(at_quick_exit_);
        quick_exit(12);
    case 3:
        abort();
    case 4:
        *nowhere = 1;
        break;
    case 5:
        raise(SIGKILL);
        break;
    case 6:
        pthread_create(&thread, NULL, leave, NULL);
        pthread_join(thread, NULL);
        break;
    case 7:
        syscall(SYS_exit_group, 15);
        break;
    default:
        raise(SIGTERM);
    }
}

int main(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (int how = 0; how < 9; how++) {
        pid_t child = fork();
        if (child == 0) {
            begin();
            round_trips(0, 5 + (unsigned)how);
            moved();
            end(how);
        }
        await(child, "child");
    }
    return 0;
}
