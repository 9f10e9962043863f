#include "preload/timing/windows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "preload/lookup/resolve.h"
#include "preload/record/record.h"
#include "preload/base/settings.h"
#include "preload/timing/budget.h"
#include "preload/timing/kinds.h"

#define MOST_TRIES 1000

static const struct xcp_library *cupti;
static xcp_subscriber subscriber;
static unsigned possible, on; /* sums of enum xft_records */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the budget */
static struct xfs_budget budget;

static void say(unsigned kinds)
{
    struct xft_event event = {.kind = XFT_EVENT_RECORDS,
                              .aux = kinds,
                              .device = XFT_PLACE_UNKNOWN,
                              .src_place = XFT_PLACE_UNKNOWN,
                              .dst_place = XFT_PLACE_UNKNOWN};
    event.start_ns = event.end_ns = xfs_now_ns();
    xfs_event_write(&event);
}

/* By whoever writes a slab: the recorder's thread, hardly ever one of the program's. Nobody waits:
 * in a forked child the lock may be held for ever. */
static void see(const struct xft_event *events, size_t count)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            xfs_budget_see(&budget, events, count);
            pthread_mutex_unlock(&lock);
            return;
        }
        __builtin_ia32_pause();
    }
}

/* What the process has worked, which is not more than it has lived unless it has many threads. */
static uint64_t lived_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The simulated GPU's records take none of its time, unless it was told so. */
static bool is_free(void)
{
    uint64_t (*record_ns)(void) =
        (__typeof__(record_ns))xfs_driver_symbol("xferscope_simgpu_record_ns");
    return record_ns != NULL && record_ns() == 0;
}

void xfs_windows_open(const struct xcp_library *library, xcp_subscriber ours, unsigned kinds)
{
    uint32_t percent = library->ActivityDisable && !is_free() ? xfs_settings()->budget : 0;
    char text[16];
    cupti = library;
    subscriber = ours;
    possible = on = kinds;
    pthread_mutex_lock(&lock);
    xfs_budget_start(&budget, percent, xfs_now_ns(), lived_ns());
    pthread_mutex_unlock(&lock);
    snprintf(text, sizeof text, "%u", percent);
    xfs_meta_set("budget", text);
    say(on);
    atomic_store(&xfs_events_written, see);
}

static void change(unsigned wanted)
{
    for (unsigned kind = 1; kind <= possible; kind <<= 1) {
        if (kind & wanted & ~on)
            xfs_kinds_on(cupti, subscriber, (enum xft_records)kind);
        else if (kind & on & ~wanted)
            xfs_kinds_off(cupti, subscriber, (enum xft_records)kind);
    }
    on = wanted;
    say(on);
}

bool xfs_windows_look(void)
{
    if (possible == 0)
        return false;
    pthread_mutex_lock(&lock);
    unsigned wanted = xfs_budget_decide(&budget, xfs_now_ns()) & possible;
    bool dense = xfs_budget_is_dense(&budget);
    pthread_mutex_unlock(&lock);
    if (wanted != on)
        change(wanted);
    return dense;
}

void xfs_windows_close(void)
{
    if (on != 0)
        change(0);
    possible = 0;
}

static void say_cost(const char *key, enum xfs_budget_kind kind)
{
    char text[32];
    double ns;
    if (!xfs_budget_record_ns(&budget, kind, &ns))
        return;
    snprintf(text, sizeof text, "%.0f", ns);
    xfs_meta_set(key, text);
}

void xfs_windows_say_costs(void)
{
    pthread_mutex_lock(&lock);
    say_cost("cost.copy.records.ns", XFS_BUDGET_COPIES);
    say_cost("cost.launch.records.ns", XFS_BUDGET_KERNELS);
    pthread_mutex_unlock(&lock);
}
