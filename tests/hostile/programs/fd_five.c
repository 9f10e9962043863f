/* May have five descriptors, two beyond the standard ones, when it first uses CUDA. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    if (!simulated())
        skip("a real driver needs more descriptors");
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){5, 5}) == 0, "setrlimit");
    begin();
    round_trips(0, 100);
    int a = open("a", O_WRONLY | O_CREAT, 0600), b = open("b", O_WRONLY | O_CREAT, 0600);
    int c = open("c", O_WRONLY | O_CREAT, 0600);
    say("%d %d %d %s", a, b, c, strerror(errno));
    round_trips(0, 100);
    must(write(a, "aaaa\n", 5) == 5 && write(b, "bbbb\n", 5) == 5, "write");
    moved();
    return 0;
}
