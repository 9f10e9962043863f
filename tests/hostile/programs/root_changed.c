/* Makes an empty folder its root (chroot) between copies. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 500);
}

int main(void)
{
    if (getuid() != 0)
        skip("it takes root to change the root");
    begin();
    round_trips(0, 100);
    must(mkdir("empty", 0755) == 0 && chroot("empty") == 0 && chdir("/") == 0, "chroot");
    in_threads(3, 0, work);
    write_file("/own", "text\n", 2);
    say_file("/own");
    say("/proc %s", access("/proc", F_OK) == 0 ? "there" : "not there");
    moved();
    return 0;
}
