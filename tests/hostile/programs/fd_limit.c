/* May have 16 descriptors, and uses them all up, before and after its first copies. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void use_up(const char *when)
{
    int fds[1024], count = 0;
    while (count < 1024 && (fds[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    int error = errno;
    round_trips(1, 20);
    if (simulated())
        say("%s: %d more, then %s", when, count, strerror(error));
    else
        say("%s: then %s", when, strerror(error));
    while (count > 0)
        close(fds[--count]);
}

int main(void)
{
    rlim_t most = simulated() ? 16 : 512;
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, most}) == 0, "setrlimit");
    begin();
    use_up("at first");
    round_trips(0, 200);
    use_up("later");
    moved();
    return 0;
}
