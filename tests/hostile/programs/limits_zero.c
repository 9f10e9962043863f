/* May queue no signal, lock no memory, have no message queue, no core and no nice place; and tells
 * its limits after. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    static const int zero[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_CORE,
                               RLIMIT_NICE,       RLIMIT_RTPRIO,   RLIMIT_LOCKS};
    struct rlimit now;
    unsigned long sum = 0;
    timer_t timer;
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        must(setrlimit((__rlimit_resource_t)zero[i], &(struct rlimit){0, 0}) == 0, "setrlimit");
    if (simulated())
        must(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}) == 0, "setrlimit");
    begin();
    round_trips(0, 300);
    int made = timer_create(CLOCK_MONOTONIC, NULL, &timer);
    say("a timer: %s", made == 0 ? "made" : strerror(errno));
    int queued = sigqueue(getpid(), SIGURG, (union sigval){.sival_int = 1});
    say("a signal: %s", queued == 0 ? "queued" : strerror(errno));
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        getrlimit((__rlimit_resource_t)i, &now);
        sum = sum * 31 + (now.rlim_cur == 0) + 2 * (now.rlim_max == 0);
    }
    say("limits %lx", sum);
    moved();
    return 0;
}
