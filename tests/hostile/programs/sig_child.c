/* Counts its children's ends by SIGCHLD and waits for any child: there is none that it has not
 * made. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static volatile sig_atomic_t ended, statuses;

static void on_child(int number)
{
    int status, kept = errno;
    (void)number;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        ended++;
        statuses += WEXITSTATUS(status);
    }
    errno = kept;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    begin();
    for (int i = 1; i <= 10; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i);
        round_trips(0, 10);
        if (simulated() && i % 5 == 0) { /* a real driver's threads take the signal meanwhile */
            int status = system("exit 3");
            must(WIFEXITED(status) && WEXITSTATUS(status) == 3, "system");
        }
    }
    while (ended < 10)
        usleep(200);
    say("%d children, statuses %d", (int)ended, (int)statuses);
    must(waitpid(-1, NULL, 0) == -1 && errno == ECHILD, "no other child");
    signal(SIGCHLD, SIG_IGN);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    round_trips(0, 10);
    say("ignored: %s", waitpid(child, NULL, 0) == -1 ? strerror(errno) : "waited");
    moved();
    return 0;
}
