/* Signals with values, queued by one thread, waited for by another; nobody else may take one. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { COUNT = 200 };

static sigset_t waited;

static void work(unsigned number)
{
    if (number == 0) {
        unsigned long sum = 0;
        siginfo_t info;
        for (int got = 0; got < COUNT; got++) {
            while (sigwaitinfo(&waited, &info) < 0)
                must(errno == EINTR, "only interrupted");
            sum = sum * 31 + (unsigned long)info.si_value.sival_int;
        }
        say("%d signals in order, %lx", COUNT, sum);
        return;
    }
    use_gpu();
    for (int i = 0; i < COUNT; i++) {
        while (sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = i}) != 0)
            must(errno == EAGAIN, "only too many");
        round_trips(number, 2);
    }
}

int main(void)
{
    sigemptyset(&waited);
    sigaddset(&waited, SIGRTMIN + 2);
    pthread_sigmask(SIG_BLOCK, &waited, NULL);
    begin();
    in_threads(2, 0, work);
    moved();
    return 0;
}
