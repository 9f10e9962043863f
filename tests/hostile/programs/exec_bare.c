/* Starts children with no environment at all; they copy, too. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

extern char **environ;

static int child(void)
{
    int own = 0;
    for (char **at = environ; *at; at++)
        own += strncmp(*at, "LD_", 3) != 0 && strncmp(*at, "XFERSCOPE_", 10) != 0 &&
               strncmp(*at, "NVTX_", 5) != 0;
    begin();
    round_trips(0, 30);
    say("child has %d variables", own);
    moved();
    return 5;
}

int main(int argc, char **argv)
{
    static char name[] = "exec_bare", word[] = "child", path[1000];
    char *arguments[] = {name, word, NULL}, *bare[] = {NULL, NULL};
    pid_t process;
    if (argc == 2 && strcmp(argv[1], "child") == 0)
        return child();
    if (getenv("LD_LIBRARY_PATH")) { /* where the simulated driver is */
        snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
        bare[0] = path;
    }
    must(posix_spawn(&process, own_path(), NULL, NULL, arguments, bare) == 0, "posix_spawn");
    await(process, "before");
    begin();
    round_trips(0, 10);
    must(posix_spawn(&process, own_path(), NULL, NULL, arguments, bare) == 0, "posix_spawn");
    await(process, "after");
    process = vfork();
    if (process == 0) {
        execve(own_path(), arguments, bare);
        _exit(127);
    }
    await(process, "vfork");
    moved();
    return 0;
}
