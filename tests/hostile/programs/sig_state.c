/* Tells every signal's disposition and the masks before, between and after its CUDA calls, in
 * several threads. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hostile/hostile.h"

static void mine(int number)
{
    (void)number;
}

static void tell(const char *when)
{
    unsigned long long caught = 0, ignored = 0, masked = 0, flags = 0;
    struct sigaction action;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < 65; i++) {
        if (sigaction(i, NULL, &action) != 0)
            continue;
        caught |= (unsigned long long)(action.sa_handler != SIG_DFL) << (i - 1);
        ignored |= (unsigned long long)(action.sa_handler == SIG_IGN) << (i - 1);
        masked |= (unsigned long long)(sigismember(&mask, i) == 1) << (i - 1);
        flags = flags * 31 + (unsigned long long)(unsigned)action.sa_flags;
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    say("%s: handled %llx ignored %llx masked %llx flags %llx alternate %d", when, caught, ignored,
        masked, flags, stack.ss_flags);
}

static void work(unsigned number)
{
    (void)number;
    use_gpu();
    round_trips(1, 50);
    tell("another thread");
}

static void at_exit(void)
{
    tell("at exit");
}

int main(void)
{
    sigset_t some;
    tell("before");
    begin();
    atexit(at_exit);
    tell("begun");
    round_trips(0, 100);
    struct sigaction action = {.sa_handler = mine, .sa_flags = SA_RESTART | SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &some, NULL);
    round_trips(0, 100);
    tell("changed");
    in_threads(1, 0, work);
    moved();
    return 0;
}
