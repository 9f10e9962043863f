#include "preload/timing/collector.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/apart.h"
#include "preload/base/headroom.h"
#include "preload/base/last_thread.h"
#include "preload/base/sandbox.h"
#include "preload/record/bus.h"
#include "preload/timing/cupti_client.h"
#include "preload/timing/give_way.h"
#include "preload/timing/records.h"
#include "preload/timing/timing.h"
#include "preload/timing/trial.h"

/* Interval of collection: SIGKILL loses at most the records of that time. */
#define COLLECT_SECONDS 1

/* Number of short rests after records were switched on: those of managed memory are often requested
 * next. */
#define SOON_RESTS 20

/* How long the thread rests between two checks. A call of the program waits for it at most that
 * long, once per process and once more for managed memory. */
#define REST_WAITING_MS 10
#define REST_BUSY_MS 20
#define REST_IDLE_MS 100
#define MOST_WAIT_NS 300000000u
#define NAP_NS 100000
#define NAP_MOST_NS 5000000

/* A waiting thread makes its request with one store; this thread answers by clearing it. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* finish */
    pthread_cond_t finished; /* done */
    const struct xcp_library *cupti;
    void (*carry_out)(enum xfs_order order);
    bool running;
    atomic_int order;
    atomic_bool queued;  /* a buffer came */
    atomic_bool on;      /* records were switched on */
    atomic_bool decided; /* xfs_collector_decide() */
    unsigned soon;       /* short rests that are left; of the thread */
    bool finish;         /* collect the rest and end */
    bool done;
    bool cramped;        /* the last records were not collected */
    atomic_bool give_up; /* finish took too long: record nothing more */
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the thread ------------------------------------------------------------------------------ */

static struct timespec in_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000L;
    }
    return t;
}

/* Runs in any thread in which CUPTI fills a buffer, also the program's: no lock, no system call. */
static void on_queued(void)
{
    atomic_store(&collector.queued, true);
}

/* The thread polls, since waking it would be a system call in a thread of the program: often while
 * records are to be switched on or off or arrive, rarely otherwise. */
static int rest_ms(void)
{
    if (!atomic_load(&collector.decided) || collector.soon > 0 || xfs_give_way_is_due() ||
        xfs_trial_goes_on())
        return REST_WAITING_MS;
    return xfs_records_outstanding() > 0 ? REST_BUSY_MS : REST_IDLE_MS;
}

/* Waits for a buffer, an order, the end, or the next collection; true when that is due. */
static bool wait_for_work(void)
{
    bool due = xfs_give_way_is_due() || xfs_trial_goes_on();
    for (int waited_ms = 0; waited_ms < COLLECT_SECONDS * 1000;) {
        int rest = rest_ms();
        struct timespec until = in_ms(rest);
        if (collector.finish || atomic_exchange(&collector.queued, false) ||
            atomic_load(&collector.order) != XFS_ORDER_NONE || (due && waited_ms > 0))
            return false;
        pthread_cond_clockwait(&collector.wake, &collector.lock, CLOCK_MONOTONIC, &until);
        waited_ms += rest;
        collector.soon -= collector.soon > 0;
    }
    return true;
}

static void obey(enum xfs_order order)
{
    if (order == XFS_ORDER_NONE)
        return;
    collector.carry_out(order);
    if (order == XFS_ORDER_RECORDS) {
        collector.soon = SOON_RESTS;
        atomic_store(&collector.decided, true);
    }
    atomic_store(&collector.order, XFS_ORDER_NONE);
}

/* A flush that is not forced returns buffers whose copies have all finished. */
static void *collect(void *unused)
{
    xfs_last_thread_own();
    xfs_apart_add((int)gettid());
    xfs_bus_own_thread(); /* its events go to the mapped file, too */
    pthread_mutex_lock(&collector.lock);
    while (!collector.finish) {
        bool flush =
            wait_for_work() && (xfs_records_outstanding() > 0 || xfs_cupti_flush_blindly());
        pthread_mutex_unlock(&collector.lock);
        xfs_bus_own_thread();
        obey((enum xfs_order)atomic_load(&collector.order));
        if (flush && xfs_has_headroom())
            collector.cupti->ActivityFlushAll(0);
        if (atomic_load(&collector.on))
            xfs_records_drain(&collector.give_up);
        if (atomic_load(&collector.decided))
            collector.carry_out(XFS_ORDER_LOOK);
        pthread_mutex_lock(&collector.lock);
    }
    pthread_mutex_unlock(&collector.lock);
    if (atomic_load(&collector.on)) {
        collector.cramped = xfs_records_outstanding() > 0 && !xfs_has_headroom();
        if (!collector.cramped)
            collector.cupti->ActivityFlushAll(XCP_FLUSH_FORCED);
        xfs_records_drain(&collector.give_up);
    }
    pthread_mutex_lock(&collector.lock);
    collector.done = true;
    pthread_cond_signal(&collector.finished);
    pthread_mutex_unlock(&collector.lock);
    return NULL;
}

/* The program's signals are blocked in this thread. */
bool xfs_collector_start(const struct xcp_library *library, void (*carry_out)(enum xfs_order order))
{
    sigset_t all, before;
    collector.cupti = library;
    collector.carry_out = carry_out;
    sigfillset(&all);
    xfs_records_queued = on_queued;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    collector.running = pthread_create(&collector.thread, NULL, collect, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (collector.running)
        pthread_setname_np(collector.thread, "xferscope-gpu");
    return collector.running;
}

static bool wait_until_done(void)
{
    struct timespec until = in_ms(XFS_TIMING_FINISH_MS);
    int waited = 0;
    pthread_mutex_lock(&collector.lock);
    collector.finish = true;
    pthread_cond_signal(&collector.wake);
    while (!collector.done && waited == 0)
        waited =
            pthread_cond_clockwait(&collector.finished, &collector.lock, CLOCK_MONOTONIC, &until);
    bool done = collector.done;
    atomic_store(&collector.give_up, !done);
    pthread_mutex_unlock(&collector.lock);
    return done;
}

bool xfs_collector_stop(void)
{
    if (!collector.running)
        return true;
    collector.running = false;
    bool done = wait_until_done();
    if (done)
        pthread_join(collector.thread, NULL);
    else
        pthread_detach(collector.thread);
    atomic_store(&collector.order, XFS_ORDER_NONE); /* the thread no longer answers */
    return done;
}

/* ---- asking it ------------------------------------------------------------------------------- */

static uint64_t passing_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* which every thread may read (sandbox.h) */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The program's seccomp filter may forbid sleeping. Pauses grow longer: many waiting threads must
 * not keep the processor from the one that they wait for. */
static void nap(long *ns)
{
    if (!xfs_may_call_kernel()) {
        __builtin_ia32_pause();
        return;
    }
    nanosleep(&(struct timespec){0, *ns}, NULL);
    *ns = *ns < NAP_MOST_NS ? 2 * *ns : NAP_MOST_NS;
}

bool xfs_collector_ask(enum xfs_order order)
{
    int none = XFS_ORDER_NONE;
    long rest_ns = NAP_NS;
    uint64_t until = passing_ns() + MOST_WAIT_NS;
    while (!atomic_compare_exchange_strong(&collector.order, &none, (int)order)) {
        if (none == (int)order)
            break; /* another thread's order: waited for first */
        none = XFS_ORDER_NONE;
        if (passing_ns() > until)
            return false;
        nap(&rest_ns);
    }
    while (atomic_load(&collector.order) == (int)order && passing_ns() < until)
        nap(&rest_ns);
    return true;
}

void xfs_collector_records_on(void)
{
    atomic_store(&collector.on, true);
}

bool xfs_collector_has_records(void)
{
    return atomic_load(&collector.on);
}

bool xfs_collector_cramped(void)
{
    return collector.cramped;
}

void xfs_collector_decide(void)
{
    atomic_store(&collector.decided, true);
}

bool xfs_collector_is_decided(void)
{
    return atomic_load(&collector.decided);
}
