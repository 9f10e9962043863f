/* Closes 0, 1 and 2 before its first CUDA call and opens its own files there. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

int main(void)
{
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    close(0);
    close(1);
    close(2);
    int a = open("own-0", O_RDWR | O_CREAT, 0600), b = open("own-1", O_RDWR | O_CREAT, 0600);
    int c = open("own-2", O_RDWR | O_CREAT, 0600);
    must(a == 0 && b == 1 && c == 2, "the lowest are free");
    must(write(a, "first\n", 6) == 6 && write(b, "second\n", 7) == 7, "write");
    must(write(c, "third\n", 6) == 6, "write");
    begin();
    round_trips(0, 100);
    must(lseek(a, 0, SEEK_END) == 6 && lseek(c, 0, SEEK_END) == 6, "nobody else wrote there");
    must(lseek(b, 0, SEEK_END) == 7, "nor there");
    dup2(out, STDOUT_FILENO);
    moved();
    return 0;
}
