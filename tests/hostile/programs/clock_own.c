/* Brings its own clock_gettime, gettimeofday and time, which jump years ahead and back, as
 * libfaketime's do. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static atomic_long jump;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int error = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += jump;
    return error;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec fine;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec fine;
    clock_gettime(CLOCK_REALTIME, &fine);
    return now ? (*now = fine.tv_sec) : fine.tv_sec;
}

int main(void)
{
    static const long jumps[] = {0, 86400, -86400, 1000000000, -1000000000, 1, -1, 8000000000};
    struct timespec before, after;
    begin();
    for (int i = 0; i < 80; i++) {
        jump = jumps[i % 8];
        clock_gettime(CLOCK_MONOTONIC, &before);
        round_trips(0, 5);
        clock_gettime(CLOCK_MONOTONIC, &after);
        must(after.tv_sec - before.tv_sec < 100, "its own clock is its own");
    }
    moved();
    return 0;
}
