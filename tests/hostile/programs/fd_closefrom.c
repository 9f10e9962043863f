/* Closes every descriptor from 3 up in a loop (closefrom), while three threads copy. */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static atomic_int done;

static void work(unsigned number)
{
    if (number == 0) {
        while (done < 3)
            closefrom(free_descriptors());
        return;
    }
    use_gpu();
    round_trips(number, 500);
    done++;
}

int main(void)
{
    begin();
    in_threads(4, 0, work);
    int fd = open("own", O_WRONLY | O_CREAT, 0600);
    if (simulated())
        say("the next descriptor is %d", fd);
    must(write(fd, "own\n", 4) == 4, "write");
    close(fd);
    round_trips(0, 10);
    say_file("own");
    moved();
    return 0;
}
