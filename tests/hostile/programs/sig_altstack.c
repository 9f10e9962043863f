/* Copies in handlers that run on alternate stacks, three deep, in four threads. */
#include <signal.h>
#include <stdlib.h>

#include "tests/hostile/hostile.h"

enum { THREADS = 4, STACK = 64 << 10, TIMES = 40 };

static _Thread_local unsigned slot;
static _Thread_local volatile int depth;

static void on_signal(int number)
{
    stack_t stack;
    depth++;
    sigaltstack(NULL, &stack);
    must(stack.ss_flags & SS_ONSTACK, "on the alternate stack");
    round_trips(slot, 2);
    if (number == SIGUSR1)
        raise(SIGUSR2);
    else if (number == SIGUSR2)
        raise(SIGRTMIN + 1);
    round_trips(slot, 1);
}

static void work(unsigned number)
{
    stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
    slot = number;
    use_gpu();
    must(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    for (int i = 0; i < TIMES; i++) {
        raise(SIGUSR1);
        round_trips(slot, 1);
    }
    must(depth == 3 * TIMES, "every handler ran");
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(stack.ss_sp);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGRTMIN + 1, &action, NULL);
    begin();
    in_threads(THREADS, 0, work);
    moved();
    return 0;
}
