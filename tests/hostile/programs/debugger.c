/* Its parent debugs it: seizes it while it copies, goes by single steps, stops and continues it,
 * lets go. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

/* Until its parent closes the other end. */
static void copy_on(int ready, int enough)
{
    char byte;
    begin();
    must(write(ready, "!", 1) == 1, "write");
    while (read(enough, &byte, 1) < 0) {
        must(errno == EAGAIN || errno == EINTR, "read");
        round_trips(0, 20);
        usleep(300);
    }
    moved();
    _exit(4);
}

/* False when it has ended. */
static bool stopped(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child)
        must(errno == EINTR, "waitpid");
    if (!WIFSTOPPED(status))
        say("ended while debugged: %x", status);
    return WIFSTOPPED(status);
}

static void debug(pid_t child)
{
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
        kill(child, SIGKILL);
        skip("debugging is not allowed");
    }
    for (int round = 0; round < 5; round++) {
        must(ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0, "interrupt");
        if (!stopped(child))
            return;
        for (int step = 0; step < 100; step++) {
            must(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0, "step");
            if (!stopped(child))
                return;
        }
        must(ptrace(PTRACE_CONT, child, NULL, NULL) == 0, "continue");
        usleep(500);
    }
    must(ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0 && stopped(child), "interrupt");
    must(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0, "detach");
}

int main(void)
{
    char byte;
    int ready[2], enough[2];
    must(pipe(ready) == 0 && pipe2(enough, O_NONBLOCK) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        close(enough[1]);
        copy_on(ready[1], enough[0]);
    }
    close(ready[1]);
    must(read(ready[0], &byte, 1) == 1, "it has begun");
    debug(child);
    close(enough[1]);
    await(child, "debugged");
    return 0;
}
