#include "tools/simgpu/gpu/clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_bool host_clock;
static _Atomic uint64_t virtual_ns = 1000000000;
static _Atomic int64_t offset_ns;   /* host clock: simulated time minus time spent simulating */
static _Atomic uint64_t shown_ns;   /* host clock: the latest answer given */
static _Atomic uint64_t stopped_at; /* host clock: when the simulation began to work, or 0 */

static uint64_t monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int sim_clock_choose(const char *word)
{
    if (strcmp(word, "virtual") && strcmp(word, "host"))
        return 0;
    host_clock = !strcmp(word, "host");
    return 1;
}

/* Raises *value to at least ns; returns what it then is. */
static uint64_t raise_to(_Atomic uint64_t *value, uint64_t ns)
{
    uint64_t seen = atomic_load(value);

    while (seen < ns && !atomic_compare_exchange_weak(value, &seen, ns))
        ;
    return seen < ns ? ns : seen;
}

uint64_t sim_now(void)
{
    uint64_t now;

    if (!host_clock)
        return atomic_load(&virtual_ns);
    now = atomic_load(&stopped_at);
    now = (now ? now : monotonic_ns()) + (uint64_t)atomic_load(&offset_ns);
    return raise_to(&shown_ns, now); /* another thread may just have taken its own time out */
}

void sim_advance(uint64_t ns)
{
    if (host_clock)
        atomic_fetch_add(&offset_ns, (int64_t)ns);
    else
        atomic_fetch_add(&virtual_ns, ns);
}

void sim_wait_until(uint64_t ns)
{
    uint64_t now;

    if (!host_clock) {
        raise_to(&virtual_ns, ns);
        return;
    }
    now = sim_now();
    if (now < ns)
        atomic_fetch_add(&offset_ns, (int64_t)(ns - now));
}

void sim_clock_stop(void)
{
    if (host_clock)
        stopped_at = monotonic_ns();
}

void sim_clock_go_on(void)
{
    if (!host_clock)
        return;
    atomic_fetch_sub(&offset_ns, (int64_t)(monotonic_ns() - stopped_at));
    stopped_at = 0;
}
