/* Not dumpable, no new privileges, a changed name, timer slack, a death signal, subreaper: and they
 * stay so. */
#include <signal.h>
#include <sys/prctl.h>

#include "tests/hostile/hostile.h"

static void tell(const char *when)
{
    char name[16] = "";
    int death = -1, reaper = -1;
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    say("%s: %s, dumpable %d, new privileges %d, slack %d, death %d, reaper %d, huge pages off %d",
        when, name, prctl(PR_GET_DUMPABLE), !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
        prctl(PR_GET_TIMERSLACK), death, reaper, prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
}

static void work(unsigned number)
{
    prctl(PR_SET_NAME, "own thread");
    use_gpu();
    round_trips(number, 100);
    tell("thread");
}

int main(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "not so called");
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_PDEATHSIG, SIGURG);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    tell("before");
    begin();
    round_trips(0, 100);
    tell("after");
    in_threads(1, 0, work);
    moved();
    return 0;
}
