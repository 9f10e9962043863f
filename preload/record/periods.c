#include "preload/record/periods.h"

#include <stdio.h>

#include "preload/base/check.h"
#include "preload/base/settings.h"
#include "preload/record/notes.h"
#include "preload/record/events.h"
#include "preload/record/recorder.h"

#define HISTORY 4096 /* periods that late records are compared with */
#define TURNS 100000 /* waits for another thread that begins or ends a period */

struct period {
    uint64_t from_ns, until_ns; /* until_ns 0: still open */
    uint32_t before, last;      /* number of the last call before the period, and in it */
};

atomic_bool xfs_periods_limited, xfs_periods_open;
atomic_uint xfs_periods_number;

static struct {
    void (*changed)(void);
    uint64_t from_ns, until_ns;
    bool by_range;
    atomic_flag turning;
    atomic_uint count; /* of periods so far */
    struct period history[HISTORY];
} periods = {.turning = ATOMIC_FLAG_INIT};

static atomic_int ranges; /* open now, also before recording begins */

/* ---- beginning and ending -------------------------------------------------------------------- */

static bool is_period(uint64_t now)
{
    return !xfs_size_is_full() && now >= periods.from_ns && now < periods.until_ns &&
           (!periods.by_range || atomic_load(&ranges) > 0);
}

static void note(bool open, uint64_t now)
{
    unsigned n = atomic_load(&periods.count);
    uint32_t number = atomic_load(&xfs_periods_number);
    if (open) {
        periods.history[n % HISTORY] = (struct period){.from_ns = now, .before = number};
        atomic_store(&periods.count, n + 1);
        return;
    }
    if (!XFS_EXPECT(n > 0, "a period ends that has not begun"))
        return;
    periods.history[(n - 1) % HISTORY].last = number;
    __atomic_store_n(&periods.history[(n - 1) % HISTORY].until_ns, now, __ATOMIC_RELEASE);
}

/* One thread at a time. `recorder`: of the background thread, which has no lane. */
static void turn(bool open, uint64_t now, struct xfs_recorder *recorder)
{
    struct xft_event event = {.kind = XFT_EVENT_PERIOD,
                              .start_ns = now,
                              .end_ns = now,
                              .aux = open                 ? XFT_PERIOD_BEGINS
                                     : xfs_size_is_full() ? XFT_PERIOD_FULL
                                                          : XFT_PERIOD_ENDS,
                              .device = XFT_PLACE_UNKNOWN,
                              .src_place = XFT_PLACE_UNKNOWN,
                              .dst_place = XFT_PLACE_UNKNOWN};
    note(open, now);
    atomic_store(&xfs_periods_open, open);
    if (recorder)
        xfs_write_apart(recorder, &event);
    else
        xfs_event_write(&event);
    periods.changed();
}

static bool look(struct xfs_recorder *recorder)
{
    for (int i = 0; i < TURNS; i++) {
        uint64_t now = xfs_now_ns();
        bool open = is_period(now);
        if (open == atomic_load(&xfs_periods_open))
            return open;
        if (atomic_flag_test_and_set(&periods.turning)) {
            __builtin_ia32_pause();
            continue;
        }
        if (is_period(now) == open && open != atomic_load(&xfs_periods_open))
            turn(open, now, recorder);
        atomic_flag_clear(&periods.turning);
    }
    return atomic_load(&xfs_periods_open);
}

bool xfs_periods_look(void)
{
    return look(NULL);
}

void xfs_periods_tick(struct xfs_recorder *recorder)
{
    if (atomic_load(&xfs_periods_limited))
        look(recorder);
}

void xfs_periods_range(int by)
{
    int open = atomic_fetch_add(&ranges, by) + by;
    if (!XFS_EXPECT(open >= 0, "a range of the phase ended that had not begun"))
        atomic_fetch_sub(&ranges, by);
    if (atomic_load(&xfs_periods_limited))
        look(NULL);
}

/* ---- what is recorded ------------------------------------------------------------------------ */

bool xfs_periods_keep_state(enum xft_event_kind kind)
{
    if (xfs_size_is_full())
        return false;
    return kind == XFT_EVENT_ALLOC || kind == XFT_EVENT_FREE || kind == XFT_EVENT_REGISTER ||
           kind == XFT_EVENT_UNREGISTER || kind == XFT_EVENT_ADVISE || kind == XFT_EVENT_PEER ||
           kind == XFT_EVENT_STREAM || kind == XFT_EVENT_STREAM_END;
}

bool xfs_periods_keep_ranges(void)
{
    return !xfs_size_is_full();
}

static bool is_of(const struct period *period, const struct xft_event *record)
{
    uint64_t until = __atomic_load_n(&period->until_ns, __ATOMIC_ACQUIRE);
    if (record->correlation == 0)
        return record->end_ns >= period->from_ns && (until == 0 || record->start_ns < until);
    return record->correlation > period->before &&
           (until == 0 || record->correlation <= period->last);
}

bool xfs_periods_keep_record(const struct xft_event *record)
{
    unsigned count = atomic_load(&periods.count);
    if (!atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed))
        return true;
    for (unsigned i = count; i > 0 && count - i < HISTORY; i--) {
        const struct period *period = &periods.history[(i - 1) % HISTORY];
        if (is_of(period, record))
            return true;
        if (record->correlation ? record->correlation > period->before
                                : record->start_ns > period->from_ns)
            return false; /* behind this one, and before the next */
    }
    return false;
}

bool xfs_periods_last_has(uint64_t ns)
{
    unsigned count = atomic_load(&periods.count);
    return count > 0 && periods.history[(count - 1) % HISTORY].from_ns <= ns;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void say(const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    xfs_meta_set(key, text);
}

static void say_limits(const struct xfs_settings *settings)
{
    if (settings->delay_ns)
        say("periods.delay_ns", settings->delay_ns);
    if (settings->duration_ns)
        say("periods.duration_ns", settings->duration_ns);
    if (settings->most_bytes)
        say("periods.max_bytes", settings->most_bytes);
    if (settings->phase[0])
        xfs_meta_set("periods.phase", settings->phase);
}

void xfs_periods_start(void (*changed)(void))
{
    const struct xfs_settings *settings = xfs_settings();
    if (!settings->delay_ns && !settings->duration_ns && !settings->most_bytes &&
        !settings->phase[0])
        return;
    periods.changed = changed;
    periods.from_ns = xfs_now_ns() + settings->delay_ns;
    periods.until_ns = settings->duration_ns ? periods.from_ns + settings->duration_ns : UINT64_MAX;
    periods.by_range = settings->phase[0] != '\0';
    say_limits(settings);
    atomic_store(&xfs_periods_limited, true);
    look(NULL);
}

void xfs_periods_after_fork(int open)
{
    atomic_store(&xfs_periods_limited, false);
    atomic_store(&xfs_periods_open, false);
    atomic_store(&xfs_periods_number, 0);
    atomic_store(&periods.count, 0);
    xfs_size_after_fork();
    atomic_flag_clear(&periods.turning);
    atomic_store(&ranges, open);
}
