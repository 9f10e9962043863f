#include "preload/apply/streams/flights.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "preload/apply/calls/writes.h"
#include "preload/base/attributes.h"
#include "preload/base/brief_lock.h"
#include "preload/base/guard.h"
#include "preload/base/sandbox.h"

#define MOST 64 /* at one time */
#define SPINS 20000
#define MOST_WAIT_NS UINT64_C(1000000000)

enum state { FREE, AS_ASKED, SUBMITTING, SUBMITTED }; /* the latter two in a stream of ours */

struct entry {
    struct xfs_flight flight;
    _Atomic uint8_t state;
};

static struct entry entries[MOST]; /* changed with the lock, but for the way to SUBMITTED */
static atomic_flag taken = ATOMIC_FLAG_INIT;
static atomic_bool over;
static atomic_uint apart;    /* in streams of ours */
static atomic_bool no_wait;  /* what was waited for did not come */
static XFS_TLS bool holding; /* a signal handler may come upon it */

/* What the lock is held for makes no call, so that it is had in the end. Cancellation is off. */
static struct xfs_guard take(void)
{
    struct xfs_guard guard = xfs_guard_enter();
    while (!xfs_brief_take(&taken, SPINS))
        if (xfs_may_call_kernel())
            sched_yield();
    holding = true;
    return guard;
}

static void give_back(struct xfs_guard guard)
{
    holding = false;
    xfs_brief_give_back(&taken);
    xfs_guard_leave(guard);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool meets(uint64_t a, uint64_t b, const struct xfs_flight *x, const struct xfs_flight *y)
{
    return b - a < x->bytes || a - b < y->bytes;
}

/* One of them writes what the other one uses. */
static bool clash(const struct xfs_flight *x, const struct xfs_flight *y)
{
    return meets(x->dst, y->dst, x, y) || meets(x->dst, y->src, x, y) ||
           meets(x->src, y->dst, x, y);
}

/* With the lock: other flights in these states that clash with this one. NULL: all of them. */
static bool has_any(const struct xfs_flight *of, enum state least, enum state most)
{
    for (unsigned i = 0; i < MOST; i++) {
        uint8_t state = atomic_load(&entries[i].state);
        if (state >= least && state <= most &&
            (of == NULL || (i != of->place && clash(of, &entries[i].flight))))
            return true;
    }
    return false;
}

static bool is_there_any(const struct xfs_flight *of, enum state least, enum state most)
{
    struct xfs_guard guard = take();
    bool any = has_any(of, least, most);
    give_back(guard);
    return any;
}

static void await_none(const struct xfs_flight *of, enum state least, enum state most)
{
    const struct timespec moment = {.tv_nsec = 5000};
    struct xfs_guard guard = xfs_guard_enter();
    uint64_t begun = now_ns();
    while (is_there_any(of, least, most) && !atomic_load(&no_wait)) {
        if (now_ns() - begun >= MOST_WAIT_NS)
            atomic_store(&no_wait, true);
        else if (xfs_may_call_kernel())
            nanosleep(&moment, NULL);
    }
    atomic_store(&over, atomic_load(&over) || atomic_load(&no_wait));
    xfs_guard_leave(guard);
}

/* ---- one ------------------------------------------------------------------------------------- */

bool xfs_flight_begins(struct xfs_flight *flight)
{
    if (holding || xfs_flights_are_over())
        return false;
    struct xfs_guard guard = take();
    flight->place = 0;
    while (flight->place < MOST && atomic_load(&entries[flight->place].state) != FREE)
        flight->place++;
    bool found = flight->place < MOST, waits = found && has_any(flight, SUBMITTING, SUBMITTING);
    if (found) {
        entries[flight->place].flight = *flight;
        atomic_store(&entries[flight->place].state, AS_ASKED);
    }
    give_back(guard);
    if (waits)
        await_none(flight, SUBMITTING, SUBMITTING);
    if (!found)
        xfs_flights_end();
    return found;
}

bool xfs_flight_may_submit(const struct xfs_flight *flight)
{
    struct xfs_guard guard = take();
    bool may = !xfs_flights_are_over() && !has_any(flight, AS_ASKED, SUBMITTED);
    if (may) {
        atomic_fetch_add(&apart, 1);
        atomic_store(&entries[flight->place].state, SUBMITTING);
    }
    give_back(guard);
    return may;
}

void xfs_flight_submitted(const struct xfs_flight *flight)
{
    atomic_store(&entries[flight->place].state, SUBMITTED);
}

bool xfs_flights_meet(uint64_t address, uint64_t bytes)
{
    struct xfs_guard guard = take();
    bool meets_any = false;
    for (unsigned i = 0; i < MOST; i++) {
        const struct xfs_flight *flight = &entries[i].flight;
        if (atomic_load(&entries[i].state) == AS_ASKED)
            meets_any |= flight->dst - address < bytes || address - flight->dst < flight->bytes ||
                         flight->src - address < bytes || address - flight->src < flight->bytes;
    }
    give_back(guard);
    return meets_any;
}

void xfs_flight_ends(const struct xfs_flight *flight)
{
    uint8_t was = atomic_exchange(&entries[flight->place].state, FREE);
    if (was == SUBMITTING || was == SUBMITTED)
        atomic_fetch_sub(&apart, 1);
}

/* ---- all ------------------------------------------------------------------------------------- */

bool xfs_flights_are_over(void)
{
    return atomic_load_explicit(&over, memory_order_acquire) ||
           atomic_load_explicit(&xfs_writes_unplaced, memory_order_acquire) > 0;
}

/* Whoever is let by with the lock has its new state before this is over. */
void xfs_flights_end(void)
{
    if (holding || (atomic_load(&over) && atomic_load(&apart) == 0))
        return;
    struct xfs_guard guard = take();
    atomic_store(&over, true);
    bool waits = has_any(NULL, SUBMITTING, SUBMITTED);
    give_back(guard);
    if (waits)
        await_none(NULL, SUBMITTING, SUBMITTED);
}

void xfs_flights_after_fork(void)
{
    memset(entries, 0, sizeof entries);
    atomic_flag_clear(&taken);
    holding = false;
    atomic_store(&over, false);
    atomic_store(&apart, 0);
    atomic_store(&no_wait, false);
}
