/* Writes a title over its arguments and environment, as servers do, before and after its first CUDA
 * call. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

extern char **environ;

static void tell(const char *when)
{
    char line[64] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    must(length > 0, "cmdline");
    say("%s: %s", when, line);
}

int main(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    for (char **at = environ; *at; at++)
        if (*at == end)
            end += strlen(end) + 1;
    simulated();
    memset(argv[0], 'X', (size_t)(end - argv[0]) - 1);
    strcpy(argv[0], "a title of its own");
    begin();
    round_trips(0, 100);
    tell("before");
    memset(argv[0], 0xff, (size_t)(end - argv[0]) - 1);
    strcpy(argv[0], "another");
    round_trips(0, 100);
    tell("after");
    moved();
    return 0;
}
