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
#include "../record/settings.h"
#include "cupti_abi.h"
#include "cupti_load.h"
#include "event.h"
#include "managed.h"
#include "records.h"

/* How often records are collected: what SIGKILL costs at most. */
#define COLLECT_SECONDS 1

/* The words of XFERSCOPE_TIMING, in the order of settings.def. */
enum asked { ASKED_AUTO, ASKED_CUPTI, ASKED_HOST, ASKED_EVENT };

_Thread_local uint32_t xfs_timing_seen __attribute__((tls_model("initial-exec")));

static atomic_int owner; /* the process that started timing; 0 = none yet */
static struct xcp_library cupti;
static xcp_subscriber subscriber; /* ours, while CUPTI serves us */
static bool waiting;              /* for the first call that can move data */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* of these, after the start */
/* This thread holds the lock: what CUPTI calls of itself meanwhile is no other profiler. */
static _Thread_local bool busy __attribute__((tls_model("initial-exec")));

/* The collecting thread and what is said to it. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* something was queued, or finish */
    pthread_cond_t finished; /* done */
    bool running;
    bool queued;
    bool finish; /* collect the rest and end */
    bool done;
    volatile bool give_up; /* finish took too long: record nothing more */
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static void on_queued(void)
{
    pthread_mutex_lock(&collector.lock);
    collector.queued = true;
    pthread_cond_signal(&collector.wake);
    pthread_mutex_unlock(&collector.lock);
}

/* Waits for a buffer, the end, or the next second; true when that second is over. */
static bool wait_for_work(void)
{
    struct timespec until = in_ms(COLLECT_SECONDS * 1000);
    int waited = 0;
    while (!collector.queued && !collector.finish && waited == 0)
        waited = pthread_cond_clockwait(&collector.wake, &collector.lock, CLOCK_MONOTONIC, &until);
    collector.queued = false;
    return waited == ETIMEDOUT;
}

/* A flush that is not forced hands over buffers whose copies have all finished. */
static void *collect(void *unused)
{
    pthread_mutex_lock(&collector.lock);
    while (!collector.finish) {
        bool flush = wait_for_work() && xfs_records_outstanding() > 0;
        pthread_mutex_unlock(&collector.lock);
        if (flush)
            cupti.ActivityFlushAll(0);
        xfs_records_drain(&collector.give_up);
        pthread_mutex_lock(&collector.lock);
    }
    pthread_mutex_unlock(&collector.lock);
    cupti.ActivityFlushAll(XCP_FLUSH_FORCED);
    xfs_records_drain(&collector.give_up);
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

/* Takes the copy of CUPTI that lets us subscribe; another profiler's presence ends the search. */
static bool accept(const struct xcp_library *library, const char *path, void *user)
{
    struct attempt *a = user;
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

/* ---- managed memory ------------------------------------------------------------------------ */

/* What has come of managed memory: used before timing started, or to be switched on when it is. */
enum managed { MANAGED_UNUSED, MANAGED_USED, MANAGED_WAITING, MANAGED_DONE };
static atomic_int managed;

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

/* CUPTI records: now, if there is managed memory already, else as soon as there is some. */
static void await_managed(void)
{
    bool wanted = xfs_settings()->managed;
    xfs_meta_set("managed", wanted ? "on" : "off");
    if (wanted && atomic_exchange(&managed, MANAGED_WAITING) == MANAGED_USED)
        xfs_timing_managed();
}

void xfs_timing_managed(void)
{
    int awaited = MANAGED_WAITING, unused = MANAGED_UNUSED, saved = errno;
    if (atomic_compare_exchange_strong(&managed, &unused, MANAGED_USED))
        return;
    if (atomic_load(&owner) == (int)getpid() &&
        atomic_compare_exchange_strong(&managed, &awaited, MANAGED_DONE))
        enable_managed();
    errno = saved;
}

/* ---- start --------------------------------------------------------------------------------- */

static bool start_cupti(struct attempt *a)
{
    if (!subscribe(a))
        return false;
    if (!start_collector())
        snprintf(a->why, sizeof a->why, "no thread to collect CUPTI's records");
    else if (enable_records(a)) {
        subscriber = a->subscriber;
        watch_calls();
        return true;
    }
    if (cupti.Unsubscribe)
        cupti.Unsubscribe(a->subscriber);
    stop_collector();
    return false;
}

static void say_timing(const char *timing, const char *why)
{
    xfs_meta_set("timing", timing);
    xfs_meta_set("timing.why", why);
}

bool xfs_timing_start(void)
{
    int saved = errno, nobody = 0;
    bool mine = atomic_compare_exchange_strong(&owner, &nobody, (int)getpid());
    if (mine) {
        waiting = xfs_settings()->timing != ASKED_HOST;
        xfs_meta_set("kernels", "off");
        xfs_meta_set("managed", "off");
        if (waiting)
            say_timing("none", "nothing was transferred");
        else
            xfs_meta_set("timing", "host");
    }
    errno = saved;
    return mine && waiting;
}

static void attach(int asked)
{
    struct attempt attempt = {0};
    if (asked == ASKED_EVENT) {
        bool on = xfs_event_start();
        say_timing(on ? "event" : "host", on ? "" : "the driver lacks CUDA's events");
        return;
    }
    if (start_cupti(&attempt)) {
        say_timing("cupti", "");
        xfs_meta_set("kernels", enable_kernels() ? "on" : "off");
        await_managed();
        return;
    }
    say_timing("host", attempt.why);
    if (asked == ASKED_CUPTI)
        xfs_log("no device timing: %s", attempt.why);
}

void xfs_timing_attach(void)
{
    int saved = errno;
    if (atomic_load(&owner) == (int)getpid()) {
        pthread_mutex_lock(&state_lock);
        busy = true;
        if (waiting)
            attach(xfs_settings()->timing);
        waiting = false;
        busy = false;
        pthread_mutex_unlock(&state_lock);
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
    disable_records();
    atomic_store(&managed, MANAGED_DONE);
    bool collected = stop_collector();
    cupti.Unsubscribe(subscriber);
    subscriber = NULL;
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
        if (waiting)
            say_timing("host", "another profiler is using CUPTI in this process");
        else if (subscriber != NULL && cupti.Unsubscribe)
            yield();
        waiting = false;
        busy = false;
        pthread_mutex_unlock(&state_lock);
    }
    errno = saved;
}

/* ---- the end ------------------------------------------------------------------------------- */

void xfs_timing_finish(void)
{
    int saved = errno;
    if (atomic_load(&owner) != (int)getpid())
        return;
    pthread_mutex_lock(&state_lock);
    waiting = false;
    xfs_event_finish(XFS_EVENT_FINISH_MS);
    if (!stop_collector())
        xfs_meta_set("timing.why", "CUPTI did not hand over its last records in time");
    pthread_mutex_unlock(&state_lock);
    errno = saved;
}
