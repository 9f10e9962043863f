/* Closes all descriptors from 3 up that it has not opened, and opens its own files there, between
 * copies. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { FILES = 8, ROUNDS = 12 };

static int open_file(int i, int flags)
{
    char name[16];
    snprintf(name, sizeof name, "own-%d", i);
    int fd = open(name, flags, 0600);
    must(fd >= 0, name);
    return fd;
}

static void one_round(int round)
{
    char text[32], back[32] = "";
    int fds[FILES];
    close_foreign();
    for (int i = 0; i < FILES; i++)
        fds[i] = open_file(i, O_RDWR | O_CREAT | O_APPEND);
    if (round == 0 && simulated())
        say("opened as %d to %d", fds[0], fds[FILES - 1]);
    for (int i = 0; i < FILES; i++) {
        int length = snprintf(text, sizeof text, "round %d of file %d\n", round, i);
        must(write(fds[i], text, (size_t)length) == length, "write");
        round_trips((unsigned)i, 10);
        off_t at = lseek(fds[i], -(off_t)length, SEEK_CUR);
        must(read(fds[i], back, sizeof back) == length, "what was read is what was written");
        must(at >= 0 && memcmp(text, back, (size_t)length) == 0, "the same text");
    }
}

int main(void)
{
    begin();
    for (int round = 0; round < ROUNDS; round++)
        one_round(round);
    for (int i = 0; i < FILES; i++) {
        char name[16];
        snprintf(name, sizeof name, "own-%d", i);
        say_file(name);
    }
    moved();
    return 0;
}
