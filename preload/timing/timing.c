#define _GNU_SOURCE
#include "timing.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../intercept/resolve.h"
#include "../record/log.h"
#include "../record/record.h"
#include "../record/sandbox.h"
#include "../record/settings.h"
#include "cupti_abi.h"
#include "cupti_load.h"
#include "event.h"
#include "managed.h"
#include "records.h"

/* How often records are collected: what SIGKILL costs at most. */
#define COLLECT_SECONDS 1

/* How long the collecting thread rests between two looks, and for how long a call of the program
 * waits for it at most: once per process, and once more for managed memory. */
#define REST_WAITING_MS 10
#define REST_BUSY_MS 20
#define REST_IDLE_MS 100
#define MOST_WAIT_NS 300000000u
#define NAP_NS 100000
#define NAP_MOST_NS 5000000

/* The words of XFERSCOPE_TIMING, in the order of settings.def. */
enum asked { ASKED_AUTO, ASKED_CUPTI, ASKED_HOST, ASKED_EVENT };

_Thread_local uint32_t xfs_timing_seen __attribute__((tls_model("initial-exec")));

static atomic_int owner; /* the process that started timing; 0 = none yet */
static struct xcp_library cupti;
static xcp_subscriber subscriber;                              /* ours, while CUPTI serves us */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* of these, after the start */
/* This thread holds the lock: what CUPTI calls of itself meanwhile is no other profiler. */
static _Thread_local bool busy __attribute__((tls_model("initial-exec")));

/* What is asked of the collecting thread; it answers by taking it back. A thread of the program
 * asks with one store, and naps, or where the program has forbidden itself system calls spins,
 * until then. */
enum order { ORDER_NONE, ORDER_RECORDS, ORDER_MANAGED };

/* The collecting thread and what is said to it. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* finish */
    pthread_cond_t finished; /* done */
    bool running;
    atomic_int order;
    atomic_bool queued; /* a buffer came */
    bool on;            /* records were switched on */
    bool finish;        /* collect the rest and end */
    bool done;
    volatile bool give_up; /* finish took too long: record nothing more */
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool overtaken; /* contexts may be in the making: too late to subscribe */

/* Records come, as far as can be told: what was to be switched on is on, or never will be. */
static atomic_bool settled;

/* ---- the number of a call ------------------------------------------------------------------ */

/* CUPTI calls this before and after every driver call that copies. Calls nest (a driver call may
 * make others): the outermost one's number is on the device records. */
static void on_call(void *user, int domain, uint32_t call, const void *data)
{
    const struct xcp_callback_data *d = data;
    if (d->site == XCP_SITE_ENTER && xfs_timing_seen == 0)
        xfs_timing_seen = d->correlation;
}

static void watch_calls(void)
{
    static const uint16_t calls[] = {
#define X(number, name) number,
#include "cupti_calls.def"
#undef X
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        cupti.EnableCallback(1, subscriber, XCP_DOMAIN_DRIVER, calls[i]);
}

/* ---- collecting ---------------------------------------------------------------------------- */

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

/* In whatever thread CUPTI fills a buffer, a program's among them: no lock, no system call. */
static void on_queued(void)
{
    atomic_store(&collector.queued, true);
}

/* The thread looks by itself, since waking it would be a system call in a thread of the program:
 * often while records are to be switched on or come, seldom when nothing happens. */
static int rest_ms(void)
{
    if (!atomic_load(&settled))
        return REST_WAITING_MS;
    return xfs_records_outstanding() > 0 ? REST_BUSY_MS : REST_IDLE_MS;
}

/* Waits for a buffer, an order, the end, or the next second; true when that second is over. */
static bool wait_for_work(void)
{
    for (int waited_ms = 0; waited_ms < COLLECT_SECONDS * 1000;) {
        int rest = rest_ms();
        struct timespec until = in_ms(rest);
        if (collector.finish || atomic_exchange(&collector.queued, false) ||
            atomic_load(&collector.order) != ORDER_NONE)
            return false;
        pthread_cond_clockwait(&collector.wake, &collector.lock, CLOCK_MONOTONIC, &until);
        waited_ms += rest;
    }
    return true;
}

static void carry_out(enum order order);

/* A flush that is not forced hands over buffers whose copies have all finished. */
static void *collect(void *unused)
{
    pthread_mutex_lock(&collector.lock);
    while (!collector.finish) {
        bool flush = wait_for_work() && xfs_records_outstanding() > 0;
        pthread_mutex_unlock(&collector.lock);
        carry_out((enum order)atomic_load(&collector.order));
        if (flush)
            cupti.ActivityFlushAll(0);
        if (collector.on)
            xfs_records_drain(&collector.give_up);
        pthread_mutex_lock(&collector.lock);
    }
    pthread_mutex_unlock(&collector.lock);
    if (collector.on) {
        cupti.ActivityFlushAll(XCP_FLUSH_FORCED);
        xfs_records_drain(&collector.give_up);
    }
    pthread_mutex_lock(&collector.lock);
    collector.done = true;
    pthread_cond_signal(&collector.finished);
    pthread_mutex_unlock(&collector.lock);
    return NULL;
}

/* The program's signals are none of this thread's business. */
static bool start_collector(void)
{
    sigset_t all, before;
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
    collector.give_up = !done;
    pthread_mutex_unlock(&collector.lock);
    return done;
}

/* False when the thread hangs in CUPTI: it is left alone. */
static bool stop_collector(void)
{
    if (!collector.running)
        return true;
    collector.running = false;
    if (!wait_until_done())
        return false;
    pthread_join(collector.thread, NULL);
    return true;
}

/* ---- starting CUPTI ------------------------------------------------------------------------ */

/* Why there is no device timing, in one line. */
struct attempt {
    xcp_subscriber subscriber;
    char why[256];
};

static void failed(struct attempt *a, const struct xcp_library *library, const char *what,
                   xcp_result result)
{
    const char *name = NULL;
    if (result == XCP_ERROR_MULTIPLE_SUBSCRIBERS)
        snprintf(a->why, sizeof a->why, "another profiler is using CUPTI in this process");
    else if (library->GetResultString && library->GetResultString(result, &name) == XCP_SUCCESS &&
             name)
        snprintf(a->why, sizeof a->why, "cupti%s failed: %s (%d)", what, name, result);
    else
        snprintf(a->why, sizeof a->why, "cupti%s failed: %d", what, result);
}

void xfs_timing_overtaken(void)
{
    atomic_store(&overtaken, true);
}

/* Takes the copy of CUPTI that lets us subscribe; another profiler's presence ends the search. */
static bool accept(const struct xcp_library *library, const char *path, void *user)
{
    struct attempt *a = user;
    if (atomic_load(&overtaken)) {
        snprintf(a->why, sizeof a->why,
                 "another thread began to use CUDA while CUPTI was being loaded");
        return true;
    }
    xcp_result result = library->Subscribe(&a->subscriber, on_call, NULL);
    if (result != XCP_SUCCESS) {
        failed(a, library, "Subscribe", result);
        xfs_verbose("device timing: %s: %s", path, a->why);
        return result == XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    }
    cupti = *library;
    xfs_verbose("device timing: CUPTI from %s", path);
    return true;
}

/* The simulated GPU's own CUPTI lies beside its driver; NVIDIA's knows nothing of that driver. */
static const char *simulated_folder(char folder[PATH_MAX])
{
    Dl_info info;
    void *clock = xfs_driver_symbol("xferscope_simgpu_now_ns");
    if (clock == NULL || dladdr(clock, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - info.dli_fname) : 1,
             slash ? info.dli_fname : ".");
    return folder;
}

static bool subscribe(struct attempt *a)
{
    char folder[PATH_MAX];
    struct xfs_cupti_search search = {
        .symbol = xfs_real_dlsym,
        .only_in = simulated_folder(folder),
        .accept = accept,
        .user = a,
    };
    snprintf(a->why, sizeof a->why, "no libcupti.so.13 or .12 found");
    return xfs_cupti_find(&search) && a->subscriber != NULL;
}

/* CUPTI writes the trace's clock where it can be told to (CUDA 11.6 and later). */
static bool set_clock(void)
{
    return cupti.ActivityRegisterTimestampCallback &&
           cupti.ActivityRegisterTimestampCallback(xfs_now_ns) == XCP_SUCCESS;
}

static void promise_zeroed_buffers(void)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    if (cupti.ActivitySetAttribute)
        cupti.ActivitySetAttribute(XCP_ATTRIBUTE_ZEROED_BUFFERS, &bytes, &yes);
}

/* The order is CUPTI's: clock and buffers before the first kind of record. */
static bool enable_records(struct attempt *a)
{
    promise_zeroed_buffers();
    xfs_records_setup(&cupti, !set_clock());
    xcp_result result =
        cupti.ActivityRegisterCallbacks(xfs_records_requested, xfs_records_completed);
    if (result != XCP_SUCCESS) {
        failed(a, &cupti, "ActivityRegisterCallbacks", result);
        return false;
    }
    result = cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY);
    if (result != XCP_SUCCESS) {
        failed(a, &cupti, "ActivityEnable", result);
        return false;
    }
    cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY2);
    cupti.ActivityEnable(XCP_ACTIVITY_MEMSET);
    return true;
}

static bool enable_kernels(void)
{
    return xfs_settings()->kernels && cupti.ActivityEnable(XCP_ACTIVITY_KERNEL) == XCP_SUCCESS;
}

/* ---- what the collecting thread is asked for ---------------------------------------------------
 */

static void say_timing(const char *timing, const char *why)
{
    xfs_meta_set("timing", timing);
    xfs_meta_set("timing.why", why);
}

static void say_no_timing(const char *why)
{
    say_timing("host", why);
    if (xfs_settings()->timing == ASKED_CUPTI)
        xfs_log("no device timing: %s", why);
}

static void enable_managed(void)
{
    struct attempt a = {0};
    const char *what;
    xcp_result result = xfs_managed_enable(&cupti, &what);
    if (result != XCP_SUCCESS) {
        failed(&a, &cupti, what, result);
        xfs_meta_set("managed", "off");
        xfs_meta_set("managed.why", a.why);
    }
}

/* CUPTI is given back: nothing was recorded through it yet. */
static void let_go(void)
{
    if (subscriber != NULL && cupti.Unsubscribe)
        cupti.Unsubscribe(subscriber);
    subscriber = NULL;
}

/* Kinds of records and callbacks may be switched on beside threads and contexts, since CUPTI has
 * seen all of these being made (docs/results/attaching-...). */
static void switch_records_on(void)
{
    struct attempt a = {0};
    if (!enable_records(&a)) {
        let_go();
        say_no_timing(a.why);
        return;
    }
    watch_calls();
    collector.on = true;
    say_timing("cupti", "");
    xfs_meta_set("kernels", enable_kernels() ? "on" : "off");
    xfs_meta_set("managed", xfs_settings()->managed ? "on" : "off");
}

/* In the collecting thread, whose stack and system calls are the recorder's own. */
static void carry_out(enum order order)
{
    if (order == ORDER_NONE)
        return;
    /* Who holds it otherwise is ending all this, and waits for this thread. */
    if (pthread_mutex_trylock(&state_lock) == 0) {
        busy = true;
        if (subscriber != NULL && order == ORDER_RECORDS)
            switch_records_on();
        else if (subscriber != NULL && collector.on)
            enable_managed();
        busy = false;
        pthread_mutex_unlock(&state_lock);
    }
    if (order == ORDER_RECORDS)
        atomic_store(&settled, true);
    atomic_store(&collector.order, ORDER_NONE);
}

static uint64_t passing_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* which every thread may read (sandbox.h) */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A filter of the program's may forbid to sleep. Longer and longer: many threads that wait must not
 * keep the one from the processor that they wait for. */
static void nap(long *ns)
{
    if (!xfs_may_call_kernel()) {
        __builtin_ia32_pause();
        return;
    }
    nanosleep(&(struct timespec){0, *ns}, NULL);
    *ns = *ns < NAP_MOST_NS ? 2 * *ns : NAP_MOST_NS;
}

/* Asks, and waits until it is done, but not for ever: a thread that goes on too early loses device
 * times and nothing else. False when it could not even ask. */
static bool ask_collector(enum order order)
{
    int none = ORDER_NONE;
    long rest_ns = NAP_NS;
    uint64_t until = passing_ns() + MOST_WAIT_NS;
    while (!atomic_compare_exchange_strong(&collector.order, &none, (int)order)) {
        if (none == (int)order)
            break; /* asked by another thread: waited for as well */
        none = ORDER_NONE;
        if (passing_ns() > until)
            return false;
        nap(&rest_ns);
    }
    while (atomic_load(&collector.order) == (int)order && passing_ns() < until)
        nap(&rest_ns);
    return true;
}

/* ---- managed memory ------------------------------------------------------------------------ */

/* What has come of managed memory: used before records came, or to be switched on when it is. */
enum managed { MANAGED_UNUSED, MANAGED_USED, MANAGED_WAITING, MANAGED_DONE };
static atomic_int managed;

/* CUPTI records: now, if there is managed memory already, else as soon as there is some. */
static void await_managed(void)
{
    if (xfs_settings()->managed && atomic_exchange(&managed, MANAGED_WAITING) == MANAGED_USED)
        xfs_timing_managed();
}

void xfs_timing_managed(void)
{
    int awaited = MANAGED_WAITING, unused = MANAGED_UNUSED, saved = errno;
    if (atomic_compare_exchange_strong(&managed, &unused, MANAGED_USED))
        return;
    if (atomic_load(&owner) == (int)getpid() &&
        atomic_compare_exchange_strong(&managed, &awaited, MANAGED_DONE) &&
        !ask_collector(ORDER_MANAGED)) {
        xfs_meta_set("managed", "off");
        xfs_meta_set("managed.why", "the recorder's thread did not answer");
    }
    errno = saved;
}

/* ---- start --------------------------------------------------------------------------------- */

/* Nothing costs anything yet but the subscription: records are switched on when something is moved.
 */
static bool start_cupti(struct attempt *a)
{
    if (!subscribe(a))
        return false;
    subscriber = a->subscriber;
    if (start_collector())
        return true;
    snprintf(a->why, sizeof a->why, "no thread to collect CUPTI's records");
    let_go();
    return false;
}

static bool start(const char *too_late)
{
    struct attempt attempt = {0};
    int asked = xfs_settings()->timing;
    xfs_meta_set("kernels", "off");
    xfs_meta_set("managed", "off");
    if (asked == ASKED_HOST) {
        say_timing("host", "");
        return false;
    }
    if (asked != ASKED_EVENT && (too_late != NULL || !start_cupti(&attempt))) {
        say_no_timing(too_late ? too_late : attempt.why);
        return false;
    }
    say_timing("none", "nothing was transferred");
    return true;
}

bool xfs_timing_start(const char *too_late)
{
    int saved = errno, nobody = 0;
    bool on = false;
    if (atomic_compare_exchange_strong(&owner, &nobody, (int)getpid())) {
        pthread_mutex_lock(&state_lock);
        busy = true;
        on = start(too_late);
        busy = false;
        pthread_mutex_unlock(&state_lock);
    }
    errno = saved;
    return on;
}

void xfs_timing_attach(void)
{
    int saved = errno;
    if (atomic_load(&owner) != (int)getpid() || atomic_load(&settled)) {
        errno = saved;
        return;
    }
    if (xfs_settings()->timing == ASKED_EVENT) {
        pthread_mutex_lock(&state_lock);
        if (!atomic_load(&settled)) {
            bool on = xfs_event_start();
            say_timing(on ? "event" : "host", on ? "" : "the driver lacks CUDA's events");
            atomic_store(&settled, true); /* others need not wait from here on */
        }
        pthread_mutex_unlock(&state_lock);
    } else {
        ask_collector(ORDER_RECORDS);
        await_managed();
    }
    errno = saved;
}

/* ---- giving way ---------------------------------------------------------------------------- */

/* What CUPTI's own clock shows: nanoseconds since 1970. */
static uint64_t calendar_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void disable_records(void)
{
    static const int kinds[] = {XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2, XCP_ACTIVITY_MEMSET,
                                XCP_ACTIVITY_KERNEL, XCP_ACTIVITY_COUNTER};
    for (size_t i = 0; cupti.ActivityDisable && i < sizeof kinds / sizeof *kinds; i++)
        cupti.ActivityDisable(kinds[i]);
}

/* The next client knows nothing of our clock, and hands out buffers as it likes. */
static void leave_as_found(void)
{
    uint8_t no = 0;
    size_t bytes = sizeof no;
    if (cupti.ActivityRegisterTimestampCallback)
        cupti.ActivityRegisterTimestampCallback(calendar_ns);
    if (cupti.ActivitySetAttribute)
        cupti.ActivitySetAttribute(XCP_ATTRIBUTE_ZEROED_BUFFERS, &bytes, &no);
}

static void yield(void)
{
    bool recorded = collector.on;
    if (recorded)
        disable_records();
    atomic_store(&managed, MANAGED_DONE);
    bool collected = stop_collector();
    let_go();
    atomic_store(&settled, true);
    if (!recorded) {
        say_timing("host", "another profiler is using CUPTI in this process");
        return;
    }
    leave_as_found();
    xfs_meta_set("timing.why",
                 collected ? "another profiler took CUPTI over; no device times from then on"
                           : "another profiler took CUPTI over, and the last records were "
                             "not handed over in time");
}

void xfs_timing_yield(void)
{
    int saved = errno;
    if (!busy && atomic_load(&owner) == (int)getpid() && xfs_settings()->timing == ASKED_AUTO) {
        pthread_mutex_lock(&state_lock);
        busy = true;
        if (subscriber != NULL && cupti.Unsubscribe)
            yield();
        busy = false;
        pthread_mutex_unlock(&state_lock);
    }
    errno = saved;
}

/* ---- the end ------------------------------------------------------------------------------- */

void xfs_timing_finish(void)
{
    int saved = errno;
    if (xfs_settings()->timing == ASKED_HOST) /* nothing to collect, nothing to ask the kernel */
        return;
    if (atomic_load(&owner) != (int)getpid())
        return;
    pthread_mutex_lock(&state_lock);
    atomic_store(&settled, true);
    xfs_event_finish(XFS_EVENT_FINISH_MS);
    if (!stop_collector())
        xfs_meta_set("timing.why", "CUPTI did not hand over its last records in time");
    pthread_mutex_unlock(&state_lock);
    errno = saved;
}
