/* Forks in three threads while two copy; the children end at once, execute another program or are
 * killed. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static atomic_int kinds[3];

static void make_children(void)
{
    for (int i = 0; i < 6; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0 && i % 3 == 0)
            _exit(7);
        if (child == 0 && i % 3 == 1)
            execl("/bin/true", "true", NULL);
        if (child == 0)
            raise(SIGKILL);
        must(waitpid(child, &status, 0) == child, "waitpid");
        kinds[0] += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        kinds[1] += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        kinds[2] += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
}

static void work(unsigned number)
{
    if (number < 3) {
        make_children();
        return;
    }
    use_gpu();
    round_trips(number, 400);
}

int main(void)
{
    begin();
    in_threads(5, 0, work);
    say("children: %d left, %d executed, %d killed", kinds[0], kinds[1], kinds[2]);
    moved();
    return 0;
}
