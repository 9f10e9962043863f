#include "tools/simgpu/gpu/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_bool host_clock; /* or the real one */
static atomic_bool real_clock;
static _Atomic uint64_t virtual_ns = 1000000000;
static _Atomic int64_t offset_ns;   /* host clock: simulated time minus time spent simulating */
static _Atomic uint64_t shown_ns;   /* host clock: the latest answer given */
static _Atomic uint64_t stopped_at; /* host clock: when the simulation began to work, or 0 */

/* Threads with clocks of their own. */
#define MOST_OWN 64

enum own { OWN_NOT, OWN_BEGUN, OWN_WAITS, OWN_ENDED };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned of, begun, ended;
    enum own states[MOST_OWN];
    int tids[MOST_OWN];
    uint64_t shown[MOST_OWN];         /* at their last call: their clocks are there or beyond */
    uint64_t worked[MOST_OWN];        /* by then */
    uint64_t worked_before[MOST_OWN]; /* by the call before it */
    const void *lock_of[MOST_OWN];    /* that they hold; NULL: none */
    const void *waits_for[MOST_OWN];  /* a lock, or a semaphore */
} owners = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
    bool there;
    unsigned number;
    uint64_t ns, begun_ns, slept_ns;
} own;

static _Thread_local struct { /* in the driver's thread, which calls a function of the host */
    bool there;
    uint64_t ns;
} away;

static uint64_t monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int sim_clock_choose(const char *word)
{
    real_clock = !strcmp(word, "real");
    host_clock = real_clock || !strcmp(word, "host");
    return host_clock || !strcmp(word, "virtual");
}

bool sim_clock_is_real(void)
{
    return real_clock;
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

    if (away.there)
        return away.ns;
    if (own.there)
        return own.ns;
    if (!host_clock)
        return atomic_load(&virtual_ns);
    now = atomic_load(&stopped_at);
    now = (now ? now : monotonic_ns()) + (uint64_t)atomic_load(&offset_ns);
    return raise_to(&shown_ns, now); /* another thread may just have taken its own time out */
}

void sim_advance(uint64_t ns)
{
    if (away.there)
        away.ns += ns;
    else if (own.there)
        own.ns += ns;
    else if (host_clock)
        atomic_fetch_add(&offset_ns, (int64_t)ns);
    else
        atomic_fetch_add(&virtual_ns, ns);
}

void sim_wait_until(uint64_t ns)
{
    uint64_t now;

    if (own.there) {
        own.ns = ns > own.ns ? ns : own.ns;
        return;
    }
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

/* Until the simulated time is over. What took longer to simulate has taken that time. */
static void spend_simulated(void)
{
    const int64_t wake_ns = 100000; /* that a sleep may last longer */
    uint64_t until = monotonic_ns() + (uint64_t)(offset_ns > 0 ? offset_ns : 0);

    if (offset_ns > wake_ns) {
        struct timespec t = {(time_t)((uint64_t)(offset_ns - wake_ns) / 1000000000u),
                             (long)((uint64_t)(offset_ns - wake_ns) % 1000000000u)};
        nanosleep(&t, NULL);
    }
    while (monotonic_ns() < until)
        ;
    offset_ns = 0;
}

void sim_clock_go_on(void)
{
    if (!host_clock)
        return;
    atomic_fetch_sub(&offset_ns, (int64_t)(monotonic_ns() - stopped_at));
    if (real_clock)
        spend_simulated();
    stopped_at = 0;
}

bool sim_clock_go_away(uint64_t ns)
{
    if (host_clock)
        return false;
    away.there = true;
    away.ns = ns;
    return true;
}

uint64_t sim_clock_come_back(void)
{
    away.there = false;
    return away.ns;
}

/* ---- clocks of threads --------------------------------------------------------------------- */

bool sim_clock_begin_own(unsigned number, unsigned of)
{
    pthread_mutex_lock(&owners.lock);
    bool first = owners.begun == 0 || owners.ended == owners.of;
    bool good = !host_clock && !own.there && of <= MOST_OWN && number < of &&
                (first || (of == owners.of && owners.states[number] == OWN_NOT));
    if (good && first) {
        memset(owners.states, 0, sizeof(owners.states));
        memset(owners.lock_of, 0, sizeof(owners.lock_of));
        memset(owners.worked, 0, sizeof(owners.worked));
        memset(owners.worked_before, 0, sizeof(owners.worked_before));
        owners.begun = owners.ended = 0;
        owners.of = of;
    }
    if (good) {
        owners.states[number] = OWN_BEGUN;
        owners.tids[number] = (int)gettid();
        owners.shown[number] = atomic_load(&virtual_ns);
        owners.begun++;
        pthread_cond_broadcast(&owners.changed);
        while (owners.begun < of)
            pthread_cond_wait(&owners.changed, &owners.lock);
        own.there = true;
        own.number = number;
        own.ns = own.begun_ns = owners.shown[number];
        own.slept_ns = 0;
    }
    pthread_mutex_unlock(&owners.lock);
    return good;
}

uint64_t sim_clock_worked_ns(void)
{
    return own.there ? own.ns - own.begun_ns - own.slept_ns : 0;
}

/* With owners.lock. */
static void show(void)
{
    owners.shown[own.number] = own.ns;
    owners.worked_before[own.number] = owners.worked[own.number];
    owners.worked[own.number] = sim_clock_worked_ns();
}

void sim_clock_end_own(void)
{
    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    show();
    owners.states[own.number] = OWN_ENDED;
    owners.ended++;
    raise_to(&virtual_ns, own.ns);
    pthread_cond_broadcast(&owners.changed);
    pthread_mutex_unlock(&owners.lock);
    own.there = false;
}

void sim_clock_sleep(uint64_t ns)
{
    sim_advance(ns);
    if (own.there && !away.there)
        own.slept_ns += ns;
}

/* Of two at the same time the one with the lower number. */
static bool is_turn(void)
{
    for (unsigned i = 0; i < owners.of; i++)
        if (owners.states[i] == OWN_BEGUN && i != own.number &&
            (owners.shown[i] < own.ns || (owners.shown[i] == own.ns && i < own.number)))
            return false;
    return true;
}

/* With owners.lock. */
static void take_turn(void)
{
    show();
    pthread_cond_broadcast(&owners.changed);
    while (!is_turn())
        pthread_cond_wait(&owners.changed, &owners.lock);
    raise_to(&virtual_ns, own.ns);
}

void sim_clock_take_turn(void)
{
    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    pthread_mutex_unlock(&owners.lock);
}

/* Of a thread whose next call is still to come, by the time of the caller: it is taken to have
 * slept first, and worked then. */
static uint64_t worked_by_now(unsigned i)
{
    uint64_t ahead = owners.shown[i] > own.ns ? owners.shown[i] - own.ns : 0;
    uint64_t worked = owners.worked[i] > ahead ? owners.worked[i] - ahead : 0;

    return worked > owners.worked_before[i] ? worked : owners.worked_before[i];
}

uint64_t sim_clock_worked_by_all_ns(void)
{
    uint64_t ns = 0;

    if (!own.there)
        return 0;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    for (unsigned i = 0; i < owners.of; i++)
        ns += i == own.number ? sim_clock_worked_ns() : worked_by_now(i);
    pthread_mutex_unlock(&owners.lock);
    return ns;
}

unsigned sim_clock_worked_by_each(struct xferscope_simgpu_thread *threads, unsigned most)
{
    unsigned count;

    if (!own.there)
        return 0;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    count = owners.of < most ? owners.of : most;
    for (unsigned i = 0; i < count; i++) {
        threads[i].tid = owners.tids[i];
        threads[i].worked_ns = i == own.number ? sim_clock_worked_ns() : worked_by_now(i);
    }
    pthread_mutex_unlock(&owners.lock);
    return count;
}

/* ---- such threads wait for each other ------------------------------------------------------- */

/* Until another one calls go_on() for it. With owners.lock. */
static void wait_for(const void *what)
{
    owners.waits_for[own.number] = what;
    owners.states[own.number] = OWN_WAITS;
    pthread_cond_broadcast(&owners.changed);
    while (owners.states[own.number] == OWN_WAITS)
        pthread_cond_wait(&owners.changed, &owners.lock);
    own.slept_ns += owners.shown[own.number] - own.ns;
    own.ns = owners.shown[own.number];
}

/* The first of those to have come goes on now; MOST_OWN: there is none. With owners.lock. */
static unsigned go_on(const void *what)
{
    unsigned next = MOST_OWN;

    for (unsigned i = 0; i < owners.of; i++)
        if (owners.states[i] == OWN_WAITS && owners.waits_for[i] == what &&
            (next == MOST_OWN || owners.shown[i] < owners.shown[next]))
            next = i;
    if (next != MOST_OWN) {
        owners.states[next] = OWN_BEGUN;
        owners.shown[next] = own.ns; /* it came before */
        owners.worked_before[next] = owners.worked[next];
    }
    return next;
}

void sim_clock_lock(const void *lock)
{
    bool held = false;

    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    for (unsigned i = 0; i < owners.of; i++)
        held = held || (owners.lock_of[i] == lock && owners.states[i] != OWN_ENDED);
    if (held)
        wait_for(lock);
    owners.lock_of[own.number] = lock;
    pthread_mutex_unlock(&owners.lock);
}

void sim_clock_unlock(const void *lock)
{
    unsigned next;

    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    owners.lock_of[own.number] = NULL;
    next = go_on(lock);
    if (next != MOST_OWN)
        owners.lock_of[next] = lock; /* before somebody else comes */
    pthread_cond_broadcast(&owners.changed);
    pthread_mutex_unlock(&owners.lock);
}

void sim_clock_take(unsigned *semaphore)
{
    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    if (*semaphore > 0)
        --*semaphore;
    else
        wait_for(semaphore);
    pthread_mutex_unlock(&owners.lock);
}

void sim_clock_post(unsigned *semaphore)
{
    if (!own.there)
        return;
    pthread_mutex_lock(&owners.lock);
    take_turn();
    if (go_on(semaphore) == MOST_OWN)
        ++*semaphore;
    pthread_cond_broadcast(&owners.changed);
    pthread_mutex_unlock(&owners.lock);
}
