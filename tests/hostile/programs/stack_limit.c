/* Executes itself with a stack limit of 128 KiB, and copies at ever greater depths down to its end.
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static __attribute__((noinline)) void descend(int left)
{
    volatile char room[400];
    room[0] = (char)left;
    if (left % 10 == 0)
        round_trip((unsigned)left, 200);
    if (left > 0)
        descend(left - 1);
    room[1] = room[0];
}

int main(int argc, char **argv)
{
    (void)argv;
    rlim_t least = 128 << 10;
    if (argc == 1) {
        if (!simulated())
            least = 512 << 10;
        must(setrlimit(RLIMIT_STACK, &(struct rlimit){least, RLIM_INFINITY}) == 0, "setrlimit");
        execl(own_path(), "stack_limit", "again", NULL);
        must(false, "exec");
    }
    begin();
    for (int i = 0; i < 5; i++)
        descend(160);
    moved();
    return 0;
}
