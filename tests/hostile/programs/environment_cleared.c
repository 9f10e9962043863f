/* Clears its environment before the first CUDA call, replaces it, and finds it as it left it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

extern char **environ;

int main(void)
{
    static char one[] = "ONE=1", *own[] = {one, NULL};
    clearenv();
    begin();
    round_trips(0, 100);
    say("variables after clearenv: %s", environ && *environ ? *environ : "none");
    environ = own;
    round_trips(0, 100);
    say("own: %s%s", environ[0], environ[1] ? " and more" : "");
    say("ONE is %s, LD_PRELOAD %s", getenv("ONE"), getenv("LD_PRELOAD") ? "is there" : "is not");
    setenv("TWO", "2", 1);
    round_trips(0, 100);
    int count = 0;
    while (environ[count])
        count++;
    say("%d in the end", count);
    moved();
    return 0;
}
