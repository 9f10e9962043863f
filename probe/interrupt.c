#include "probe/interrupt.h"

#include <signal.h>

#include "probe/measure/budget.h"
#include "probe/session.h"

#define AGAIN_NS 500000000u

static volatile sig_atomic_t stop_asked;
static volatile uint64_t stop_asked_ns;

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDING = sizeof(ending) / sizeof(ending[0]) };

static struct sigaction before[ENDING];

bool xfp_interrupted(void)
{
    return stop_asked;
}

/* The first signal is a request; a second one, at least 0.5 s later, has its default effect.
 * (timeout(1) and some shells send it twice at once.) */
static void on_signal(int number)
{
    uint64_t now = xfp_wall_ns();

    if (!stop_asked)
        stop_asked_ns = now;
    stop_asked = 1;
    if (now - stop_asked_ns < AGAIN_NS)
        return;
    signal(number, SIG_DFL);
    raise(number);
}

static void set_signals(bool on)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    for (int i = 0; i < ENDING; i++) {
        if (on && sigaction(ending[i], NULL, &before[i]))
            continue;
        if (before[i].sa_handler != SIG_IGN)
            sigaction(ending[i], on ? &action : &before[i], NULL);
    }
}

void xfp_catch_signals(void)
{
    stop_asked = 0;
    set_signals(true);
}

void xfp_release_signals(void)
{
    set_signals(false);
}
