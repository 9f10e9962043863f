/* On a disk of 3 MiB, which `run` mounts where it can: fills it, copies, finds its file as it wrote
 * it, makes room, copies. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static const char *fill(int most)
{
    char block[4096];
    int fd = open("filler", O_WRONLY | O_CREAT | O_TRUNC, 0600), blocks = 0;
    memset(block, 'f', sizeof block);
    while (fd >= 0 && blocks < most && write(fd, block, sizeof block) == sizeof block)
        blocks++;
    const char *why = blocks == most ? "not full" : strerror(errno);
    close(fd);
    return why;
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 2000);
}

int main(void)
{
    write_file("own", "0123456789abcde\n", 1000);
    begin();
    round_trips(0, 50);
    say("filled: %s", fill(1024));
    in_threads(3, 0, work);
    must(unlink("filler") == 0, "unlink");
    say_file("own");
    round_trips(0, 500);
    moved_at_least();
    return 0;
}
