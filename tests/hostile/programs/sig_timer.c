/* A timer strikes every 0.2 ms without SA_RESTART; reads, sleeps and copies go on, and errno stays
 * the program's. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static volatile sig_atomic_t ticks, foreign;
static pthread_t self;

static void tick(int number)
{
    int kept = errno;
    (void)number;
    ticks++;
    foreign += pthread_self() != self;
    errno = kept;
}

static void strike(long micros)
{
    struct itimerval timer = {{0, micros}, {0, micros}};
    must(setitimer(ITIMER_REAL, &timer, NULL) == 0, "setitimer");
}

/* Through a pipe: every byte arrives, whatever is interrupted. */
static unsigned long pass(int pipes[2])
{
    unsigned long sum = 0;
    unsigned char byte = 0, back = 0;
    for (int i = 0; i < 400; i++, byte++) {
        while (write(pipes[1], &byte, 1) != 1)
            must(errno == EINTR, "only interrupted");
        while (read(pipes[0], &back, 1) != 1)
            must(errno == EINTR, "only interrupted");
        sum = sum * 31 + back;
        if (i % 8 == 0)
            round_trip(0, 512);
    }
    return sum;
}

int main(void)
{
    int pipes[2];
    self = pthread_self();
    struct sigaction action = {.sa_handler = tick};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    must(sigaction(SIGALRM, &action, NULL) == 0 && pipe(pipes) == 0, "to begin");
    if (!simulated()) /* threads of a real driver take no signal: they inherit the mask */
        pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    else
        strike(200);
    begin();
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    strike(200);
    unsigned long sum = pass(pipes);
    struct timespec left = {0, 3000000};
    while (nanosleep(&left, &left) != 0)
        must(errno == EINTR, "only interrupted");
    while (ticks < 20)
        pause();
    strike(0);
    say("sum %lx, struck, in threads of others %d", sum, (int)foreign);
    moved();
    return 0;
}
