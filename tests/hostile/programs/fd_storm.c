/* A thread puts its own file over every descriptor by dup2, writes through it and closes it, while
 * others copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static atomic_int done;
static int own, first;
static long written;

static void storm(void)
{
    do {
        for (int fd = first; fd < 1000; fd++) {
            if (fd == own)
                continue;
            if (dup2(own, fd) != fd) {
                must(errno == EBUSY, "only a number that is just being given away");
                continue;
            }
            written += write(fd, "x", 1) == 1;
            close(fd);
        }
    } while (!done);
}

static void work(unsigned number)
{
    if (number == 0) {
        storm();
        return;
    }
    use_gpu();
    round_trips(number, 400);
    done++;
}

int main(void)
{
    struct stat about;
    first = free_descriptors();
    own = open("own", O_RDWR | O_CREAT | O_APPEND, 0600);
    must(own >= 0, "open");
    must(dup2(own, 1010) == 1010, "dup2");
    close(own);
    own = 1010;
    begin();
    in_threads(4, 0, work);
    must(fstat(own, &about) == 0 && about.st_size == written,
         "the file has what was written to it");
    must(ftruncate(own, 5) == 0, "ftruncate");
    say_file("own");
    moved();
    return 0;
}
