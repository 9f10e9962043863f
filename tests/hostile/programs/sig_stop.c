/* Is stopped and continued a hundred times from outside, while four threads copy. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void stop_often(pid_t process)
{
    for (int i = 0; i < 100; i++) {
        kill(process, SIGSTOP);
        usleep(100);
        kill(process, SIGCONT);
        usleep(200);
    }
    _exit(0);
}

static void work(unsigned number)
{
    use_gpu();
    for (int i = 0; i < 20; i++) {
        round_trips(number, 20);
        usleep(500);
    }
}

int main(void)
{
    begin();
    pid_t stopper = fork();
    if (stopper == 0)
        stop_often(getppid());
    in_threads(4, 0, work);
    await(stopper, "stopper");
    moved();
    return 0;
}
