/* Executes programs with an environment of 3,000 variables, from threads with little stack, in
 * three ways. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { VARIABLES = 3000 };

extern char **environ;
static char *large[VARIABLES + 300];
static char texts[VARIABLES][40];

/* What a recorder needs may be added; the rest arrives as it was. */
static int tell(void)
{
    unsigned count = 0, sum = 0;
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "OWN_", 4) == 0) {
            count++;
            for (const char *c = *at; *c; c++)
                sum = sum * 31 + (unsigned char)*c;
        }
    say("%u variables, sum %x", count, sum);
    return 4;
}

static void fill(void)
{
    int count = 0;
    for (char **at = environ; *at && count < 250; at++)
        large[count++] = *at;
    for (int i = 0; i < VARIABLES; i++) {
        snprintf(texts[i], sizeof texts[i], "OWN_%d=%x", i, i * 2654435761u);
        large[count++] = texts[i];
    }
}

static void work(unsigned number)
{
    static char name[] = "exec_environment", word[] = "tell";
    char *arguments[] = {name, word, NULL};
    pid_t child = -1;
    if (number == 0) {
        child = vfork();
        if (child == 0) {
            execve(own_path(), arguments, large);
            _exit(127);
        }
    } else if (number == 1) {
        must(posix_spawn(&child, own_path(), NULL, NULL, arguments, large) == 0, "posix_spawn");
    } else {
        child = fork();
        if (child == 0) {
            execvpe(own_path(), arguments, large);
            _exit(127);
        }
    }
    await(child, "child");
}

static unsigned which;

static void one_of_them(unsigned number)
{
    (void)number;
    use_gpu();
    for (int i = 0; i < 20; i++)
        round_trip(0, SLOT_BYTES); /* of which the simulated driver knows the time */
    work(which);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "tell") == 0)
        return tell();
    own_path();
    fill();
    begin();
    for (which = 0; which < 3; which++)
        in_threads(1, simulated() ? 20 << 10 : 64 << 10, one_of_them);
    moved();
    return 0;
}
