/* Executes itself over and over (execv, execve by /proc/self/fd, fexecve), copying in each life. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

extern char **environ;

int main(int argc, char **argv)
{
    static char name[] = "other name", count[16], path[40];
    int life = argc > 1 ? atoi(argv[1]) : 0;
    begin();
    round_trips(0, 20 + (unsigned)life);
    say("life %d, process %s", life,
        argc > 2 && atoi(argv[2]) != getpid() ? "changed" : "the same");
    moved();
    if (life == 3)
        return 6;
    static char process[16];
    snprintf(count, sizeof count, "%d", life + 1);
    snprintf(process, sizeof process, "%d", getpid());
    char *arguments[] = {name, count, process, NULL};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (life == 0)
        execv(own_path(), arguments);
    else if (life == 1)
        execve(path, arguments, environ);
    else
        fexecve(fd, arguments, environ);
    must(false, "exec");
    return 1;
}
