/* Leaves handlers that have copied by siglongjmp, and functions by longjmp, from ever other depths.
 */
#include <setjmp.h>
#include <signal.h>

#include "tests/hostile/hostile.h"

static sigjmp_buf back;
static jmp_buf plain;
static volatile int jumps;

static void on_signal(int number)
{
    (void)number;
    round_trip(1, 256);
    siglongjmp(back, ++jumps);
}

static __attribute__((noinline)) void descend(int depth)
{
    volatile char room[64];
    room[0] = (char)depth;
    if (depth > 0) {
        descend(depth - 1);
    } else {
        round_trip(0, 128);
        if (jumps % 2)
            longjmp(plain, 1);
        raise(SIGUSR1);
    }
    room[1] = room[0];
}

int main(void)
{
    sigset_t mask;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    begin();
    for (volatile int i = 0; i < 200; i++) {
        if (sigsetjmp(back, 1) != 0)
            continue;
        if (setjmp(plain) != 0) {
            jumps++;
            continue;
        }
        descend(i % 40);
    }
    sigprocmask(SIG_BLOCK, NULL, &mask);
    say("%d jumps, SIGUSR1 %s", jumps, sigismember(&mask, SIGUSR1) ? "masked" : "not masked");
    moved();
    return 0;
}
