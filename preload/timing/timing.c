#include "preload/timing/timing.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/headroom.h"
#include "preload/base/real_dlsym.h"
#include "preload/lookup/driver.h"
#include "preload/base/log.h"
#include "preload/record/cost.h"
#include "preload/record/hold.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/base/settings.h"
#include "preload/timing/collector.h"
#include "xferscope/cupti_abi.h"
#include "preload/timing/cupti_client.h"
#include "preload/timing/cupti_load.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/give_way.h"
#include "preload/timing/records.h"
#include "preload/timing/trial.h"

/* The words of XFERSCOPE_TIMING, in the order of settings.def. */
enum asked { ASKED_AUTO, ASKED_CUPTI, ASKED_HOST, ASKED_EVENT };

static atomic_int owner; /* the process that started timing; 0 = none yet */
static struct xcp_library cupti;
static xcp_subscriber subscriber;                              /* ours, while CUPTI serves us */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* of these, after the start */
/* This thread holds the lock: a subscription that CUPTI itself makes meanwhile is not another
 * profiler's. */
static XFS_TLS bool busy;

static atomic_bool shared;    /* CUPTI serves others beside us */
static atomic_bool overtaken; /* contexts may be being created: too late to subscribe */

/* ---- the number of a call ------------------------------------------------------------------ */

/* CUPTI calls this before and after every driver call that copies or launches. Calls nest (a driver
 * call may make others): the outermost one's number is on the device records. */
static void on_call(void *user, int domain, uint32_t call, const void *data)
{
    const struct xcp_callback_data *d = data;
    if (d->site == XCP_SITE_ENTER && xfs_timing_seen == 0 &&
        atomic_load_explicit(&xfs_copies_recorded, memory_order_relaxed)) {
        xfs_timing_seen = d->correlation;
        xfs_periods_numbered(d->correlation);
    }
}

#define X(number, name) number,
static const uint16_t calls[] = {
#include "xferscope/cupti_calls.def"
};
static const uint16_t launches[] = {
#include "xferscope/cupti_launches.def"
};
#undef X

static void watch(const uint16_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cupti.EnableCallback(1, subscriber, XCP_DOMAIN_DRIVER, numbers[i]);
}

/* ---- starting CUPTI ------------------------------------------------------------------------ */

/* Why there is no device timing, in one line. */
struct attempt {
    xcp_subscriber subscriber;
    char other[XCP_OTHER_NAME_BYTES]; /* another profiler's name; "": not known */
    char why[256];
};

static void failed(struct attempt *a, const struct xcp_library *library, const char *what,
                   xcp_result result)
{
    const char *name = NULL;
    if (result == XCP_ERROR_MULTIPLE_SUBSCRIBERS)
        snprintf(a->why, sizeof a->why, "another profiler%s%s%s is using CUPTI in this process",
                 a->other[0] ? " (" : "", a->other, a->other[0] ? ")" : "");
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
    struct xfs_cupti_joined joined;
    struct xcp_library ours = *library;
    bool hardware = xfs_settings()->kernels && xfs_settings()->hardware_times;
    xcp_result result = xfs_cupti_join(&ours, on_call, hardware, &joined);
    memcpy(a->other, joined.other, sizeof a->other);
    if (result != XCP_SUCCESS) {
        failed(a, library, "Subscribe", result);
        xfs_verbose("device timing: %s: %s", path, a->why);
        return result == XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    }
    cupti = ours;
    a->subscriber = joined.subscriber;
    atomic_store(&shared, joined.several);
    if (joined.several)
        xfs_meta_set("timing.shared", "1");
    if (joined.hardware)
        xfs_meta_set("kernels.hardware", "1");
    xfs_verbose("device timing: CUPTI from %s", path);
    return true;
}

/* The simulated GPU's own CUPTI lies beside its driver; NVIDIA's knows nothing of that driver. */
static const char *simulated_directory(char directory[PATH_MAX])
{
    Dl_info info;
    void *clock = xfs_driver_symbol("xferscope_simgpu_now_ns");
    if (clock == NULL || dladdr(clock, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(directory, PATH_MAX, "%.*s", slash ? (int)(slash - info.dli_fname) : 1,
             slash ? info.dli_fname : ".");
    return directory;
}

static bool subscribe(struct attempt *a)
{
    char directory[PATH_MAX];
    struct xfs_cupti_search search = {
        .symbol = xfs_real_dlsym,
        .only_in = simulated_directory(directory),
        .accept = accept,
        .user = a,
    };
    snprintf(a->why, sizeof a->why, "no libcupti.so.13 or .12 found");
    return xfs_cupti_find(&search) && a->subscriber != NULL;
}

/* Makes CUPTI use the trace's clock, which CUDA 11.6 and later can. */
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

#define CRAMPED "few descriptors or little memory are left, which CUPTI may not survive"

static bool has_room(struct attempt *a)
{
    if (xfs_has_headroom())
        return true;
    snprintf(a->why, sizeof a->why, CRAMPED);
    return false;
}

/* CUPTI demands this order: clock and buffers before the first kind of record. */
static bool prepare_records(struct attempt *a)
{
    static bool prepared;
    if (prepared)
        return true;
    if (!has_room(a))
        return false;
    promise_zeroed_buffers();
    xfs_records_setup(&cupti, !set_clock());
    xcp_result result =
        cupti.ActivityRegisterCallbacks(xfs_records_requested, xfs_records_completed);
    if (result != XCP_SUCCESS) {
        failed(a, &cupti, "ActivityRegisterCallbacks", result);
        return false;
    }
    return prepared = true;
}

static bool enable_copies(struct attempt *a)
{
    xcp_result result = cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY);
    if (result != XCP_SUCCESS) {
        failed(a, &cupti, "ActivityEnable", result);
        return false;
    }
    cupti.ActivityEnable(XCP_ACTIVITY_MEMCPY2);
    cupti.ActivityEnable(XCP_ACTIVITY_MEMSET);
    watch(calls, sizeof calls / sizeof *calls);
    atomic_store(&xfs_copies_recorded, true);
    return true;
}

static bool enable_kernels(void)
{
    if (!xfs_settings()->kernels || cupti.ActivityEnable(XCP_ACTIVITY_KERNEL) != XCP_SUCCESS)
        return false;
    watch(launches, sizeof launches / sizeof *launches);
    return true;
}

/* ---- what the collecting thread is asked for ------------------------------------------------- */

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
    xcp_result result = XCP_SUCCESS;
    bool room = has_room(&a);
    if (room && (result = xfs_managed_enable(&cupti, &what)) != XCP_SUCCESS)
        failed(&a, &cupti, what, result);
    if (!room || result != XCP_SUCCESS) {
        xfs_meta_set("managed", "off");
        xfs_meta_set("managed.why", a.why);
    }
}

/* Unsubscribes from CUPTI before anything was recorded. */
static void let_go(void)
{
    if (subscriber != NULL && cupti.Unsubscribe)
        cupti.Unsubscribe(subscriber);
    subscriber = NULL;
}

static bool managed_asked; /* before records were on */

static void records_refused(const struct attempt *a)
{
    xfs_trial_stop();
    let_go();
    say_no_timing(a->why);
}

static void records_are_on(bool kernels)
{
    xfs_collector_records_on();
    say_timing("cupti", "");
    xfs_give_way_start(&cupti, XFT_RECORDS_COPIES | (kernels ? XFT_RECORDS_KERNELS : 0));
    xfs_meta_set("kernels", kernels ? "on" : "off");
    xfs_meta_set("managed", xfs_settings()->managed ? "on" : "off");
    if (managed_asked)
        enable_managed();
}

/* Safe while other threads use CUDA, since CUPTI has seen all contexts being created
 * (docs/timing.md). */
static void switch_records_on(void)
{
    struct attempt a = {0};
    if (prepare_records(&a) && enable_copies(&a))
        records_are_on(enable_kernels());
    else
        records_refused(&a);
}

/* ---- whether they fit into the budget -------------------------------------------------------- */

static void begin_records(void)
{
    unsigned kernels = xfs_settings()->kernels ? XFS_TRIAL_KERNELS : 0;
    if (!cupti.ActivityDisable || !xfs_trial_start(XFS_TRIAL_COPIES | kernels)) {
        switch_records_on();
        return;
    }
    xfs_meta_set("timing.sampled", "1");
    say_timing("host", "it was over before it was known what device times cost (--budget)");
}

struct turn {
    unsigned parts; /* to be switched on */
    bool copies, kernels;
    struct attempt attempt;
};

/* While calls are held back. */
static void turn_on(void *arguments)
{
    struct turn *turn = arguments;
    turn->copies = turn->parts & XFS_TRIAL_COPIES && enable_copies(&turn->attempt);
    turn->kernels = turn->parts & XFS_TRIAL_KERNELS && enable_kernels();
}

static void switch_parts_on(unsigned parts)
{
    struct turn turn = {.parts = parts};
    if (!prepare_records(&turn.attempt)) {
        records_refused(&turn.attempt);
    } else if (xfs_with_calls_held(turn_on, &turn)) {
        xfs_trial_switched_on(parts);
        if (turn.copies) {
            records_are_on(turn.kernels);
        } else if (parts & XFS_TRIAL_COPIES) {
            records_refused(&turn.attempt);
        } else if (turn.kernels) {
            xfs_give_way_kernels_on();
            xfs_meta_set("kernels", "on");
        }
    }
}

static void look(void)
{
    bool tried = xfs_trial_goes_on();
    unsigned parts = xfs_trial_look();
    if (parts)
        switch_parts_on(parts);
    else if (tried && !xfs_trial_goes_on())
        xfs_give_way_refused(xfs_collector_has_records() ? XFS_TRIAL_KERNELS
                                                         : XFS_TRIAL_COPIES | XFS_TRIAL_KERNELS);
    if (xfs_collector_has_records())
        xfs_give_way_look();
}

/* In the collecting thread, whose stack and system calls are the recorder's own. */
static void carry_out(enum xfs_order order)
{
    /* Another holder of the lock is finishing device timing, and waits for this thread. */
    if (pthread_mutex_trylock(&state_lock) == 0) {
        busy = true;
        if (subscriber != NULL && order == XFS_ORDER_RECORDS)
            begin_records();
        else if (subscriber != NULL && order == XFS_ORDER_LOOK)
            look();
        else if (subscriber != NULL && xfs_collector_has_records())
            enable_managed();
        else
            managed_asked = true;
        busy = false;
        pthread_mutex_unlock(&state_lock);
    }
}

/* ---- managed memory ------------------------------------------------------------------------ */

/* State of managed memory: used before records were on, or to be switched on at its first use. */
enum managed { MANAGED_UNUSED, MANAGED_USED, MANAGED_WAITING, MANAGED_DONE };
static atomic_int managed;

static bool is_awaited(void)
{
    int awaited = MANAGED_WAITING;
    return atomic_load(&owner) == (int)getpid() &&
           atomic_compare_exchange_strong(&managed, &awaited, MANAGED_DONE);
}

static void ask_for_managed(void)
{
    if (!xfs_collector_ask(XFS_ORDER_MANAGED)) {
        xfs_meta_set("managed", "off");
        xfs_meta_set("managed.why", "the recorder's thread did not answer");
    }
}

/* CUPTI records: now, if there is managed memory already, else as soon as there is some. */
static void await_managed(void)
{
    if (xfs_settings()->managed && atomic_exchange(&managed, MANAGED_WAITING) == MANAGED_USED &&
        is_awaited())
        ask_for_managed();
}

void xfs_timing_managed(void)
{
    int unused = MANAGED_UNUSED, saved = errno;
    if (atomic_compare_exchange_strong(&managed, &unused, MANAGED_USED))
        return;
    if (is_awaited()) {
        xfs_cost_unusual(XFT_OVERHEAD_DEVICE);
        ask_for_managed();
    }
    errno = saved;
}

/* ---- start --------------------------------------------------------------------------------- */

/* So far only the subscription costs time: records are switched on when data is moved.
 */
static bool start_cupti(struct attempt *a)
{
    if (!has_room(a) || !subscribe(a))
        return false;
    subscriber = a->subscriber;
    if (xfs_collector_start(&cupti, carry_out))
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
    if (atomic_load(&owner) != (int)getpid() || xfs_collector_is_decided()) {
        errno = saved;
        return;
    }
    if (xfs_settings()->timing == ASKED_EVENT) {
        pthread_mutex_lock(&state_lock);
        if (!xfs_collector_is_decided()) {
            bool sampled = xfs_settings()->budget > 0, on = xfs_pairs_start(sampled);
            say_timing(on ? "event" : "host", on ? "" : "the driver lacks CUDA's events");
            if (on && sampled)
                xfs_meta_set("timing.sampled", "1");
            xfs_collector_decide(); /* other threads need not wait from here on */
        }
        pthread_mutex_unlock(&state_lock);
    } else {
        xfs_collector_ask(XFS_ORDER_RECORDS);
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
    xfs_say_records(0);
}

/* The next subscriber does not know our clock, and has its own buffers. */
static void leave_as_found(void)
{
    uint8_t no = 0;
    size_t bytes = sizeof no;
    if (cupti.ActivityRegisterTimestampCallback)
        cupti.ActivityRegisterTimestampCallback(calendar_ns);
    if (cupti.ActivitySetAttribute)
        cupti.ActivitySetAttribute(XCP_ATTRIBUTE_ZEROED_BUFFERS, &bytes, &no);
}

/* Device times end, for a reason that is reported; lost: when the last records did not come in
 * time. */
static void leave(const char *before_records, const char *why, const char *lost)
{
    xfs_trial_stop();
    bool recorded = xfs_collector_has_records();
    if (recorded)
        disable_records();
    atomic_store(&managed, MANAGED_DONE);
    bool collected = xfs_collector_stop();
    let_go();
    xfs_collector_decide();
    if (!recorded) {
        say_timing("host", before_records);
        return;
    }
    leave_as_found();
    xfs_meta_set("timing.why", collected ? why : lost);
}

static void leave_locked(const char *before_records, const char *why, const char *lost)
{
    pthread_mutex_lock(&state_lock);
    busy = true;
    if (subscriber != NULL && cupti.Unsubscribe)
        leave(before_records, why, lost);
    busy = false;
    pthread_mutex_unlock(&state_lock);
}

void xfs_timing_yield(bool shares)
{
    int saved = errno;
    if (shares && atomic_load(&shared))
        xfs_cupti_company();
    else if (!busy && atomic_load(&owner) == (int)getpid() && xfs_settings()->timing == ASKED_AUTO)
        leave_locked("another profiler is using CUPTI in this process",
                     "another profiler took CUPTI over; no device times from then on",
                     "another profiler took CUPTI over, and the last records were not delivered "
                     "in time");
    errno = saved;
}

bool xfs_timing_needs_memory(void)
{
    int asked = xfs_settings()->timing;
    return asked != ASKED_HOST && asked != ASKED_EVENT && atomic_load(&owner) == (int)getpid();
}

void xfs_timing_memory_ends(void)
{
    int saved = errno;
    if (!busy && xfs_timing_needs_memory())
        leave_locked("the program limits its memory, which CUPTI does not survive",
                     "the program limited its memory, which CUPTI does not survive; no device "
                     "times from then on",
                     "the program limited its memory, which CUPTI does not survive, and the last "
                     "records were not delivered in time");
    errno = saved;
}

/* ---- the end ------------------------------------------------------------------------------- */

void xfs_timing_finish(void)
{
    int saved = errno;
    if (xfs_settings()->timing == ASKED_HOST) /* nothing to collect, and no system call */
        return;
    if (atomic_load(&owner) != (int)getpid())
        return;
    pthread_mutex_lock(&state_lock);
    xfs_collector_decide();
    xfs_pairs_finish(XFS_PAIRS_FINISH_MS);
    if (!xfs_collector_stop())
        xfs_meta_set("timing.why", "CUPTI did not hand over its last records in time");
    else if (xfs_collector_cramped())
        xfs_meta_set("timing.why", "CUPTI's last records were not asked for: " CRAMPED);
    pthread_mutex_unlock(&state_lock);
    errno = saved;
}
