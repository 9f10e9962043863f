/* Has children in time namespaces whose monotonic clocks run a year ahead and behind. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void in_namespace(const char *offsets, int number)
{
    struct timespec now;
    if (unshare(CLONE_NEWTIME) != 0)
        skip("there are no time namespaces");
    int fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, offsets, strlen(offsets)) != (ssize_t)strlen(offsets))
        skip("time namespaces cannot be set");
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        begin();
        clock_gettime(CLOCK_MONOTONIC, &now);
        round_trips(0, 50);
        say("child %d is %s", number, now.tv_sec > 30000000 ? "ahead" : "not ahead");
        moved();
        _exit(number);
    }
    await(child, "child");
}

int main(void)
{
    pid_t first = fork();
    if (first == 0) {
        in_namespace("monotonic 31536000 0\nboottime 31536000 0\n", 1);
        _exit(0);
    }
    await(first, "ahead");
    in_namespace("monotonic 315360000 999999999\n", 2);
    begin();
    round_trips(0, 50);
    moved();
    return 0;
}
