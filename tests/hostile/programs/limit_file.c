/* May write files of 2 MiB only, later of 20 KiB, and SIGXFSZ is not handled: its own file stays
 * below, and nobody else's ends it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/hostile/hostile.h"

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 4000);
}

int main(void)
{
    must(setrlimit(RLIMIT_FSIZE, &(struct rlimit){2 << 20, RLIM_INFINITY}) == 0, "setrlimit");
    begin();
    round_trips(0, 100);
    write_file("own", "0123456789abcde\n", 1000);
    must(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20 << 10, RLIM_INFINITY}) == 0, "setrlimit");
    in_threads(2, 0, work);
    say_file("own");
    struct sigaction now;
    sigaction(SIGXFSZ, NULL, &now);
    say("SIGXFSZ %s", now.sa_handler == SIG_DFL ? "ends it" : "is handled");
    moved();
    return 0;
}
