/* Runs on one processor at a real-time priority, and tells where its threads and children may run.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void tell(const char *who)
{
    cpu_set_t set;
    struct sched_param param;
    sched_getaffinity(0, sizeof set, &set);
    sched_getparam(0, &param);
    say("%s: %d processors, policy %d, priority %d, nice %d", who, CPU_COUNT(&set),
        sched_getscheduler(0), param.sched_priority, getpriority(PRIO_PROCESS, 0));
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 500);
    tell("thread");
}

int main(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    must(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
    begin();
    struct sched_param param = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &param) != 0)
        skip("no real-time priorities");
    round_trips(0, 2000);
    tell("main");
    in_threads(1, 0, work);
    pid_t child = fork();
    if (child == 0) {
        tell("child");
        _exit(2);
    }
    await(child, "child");
    param.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &param);
    moved();
    return 0;
}
