/* A thread leaves the others' descriptor table (CLONE_FILES), closes all and has files of its own.
 */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void work(unsigned number)
{
    if (number > 0) {
        use_gpu();
        round_trips(number, 300);
        return;
    }
    must(unshare(CLONE_FILES) == 0, "unshare");
    closefrom(3);
    for (int i = 0; i < 200; i++) {
        int fd = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
        must(fd == 3, "3 is the lowest that is free");
        must(write(fd, "0123456789abcde\n", 16) == 16, "write");
        close(fd);
    }
    say_file("own");
}

int main(void)
{
    begin();
    round_trips(0, 10);
    in_threads(3, 0, work);
    round_trips(0, 10);
    moved();
    return 0;
}
