#include "preload/record/recorder.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/base/log.h"
#include "preload/base/sandbox.h"
#include "preload/format/index.h"
#include "preload/format/segments.h"
#include "preload/record/bus.h"

#define STACK_BYTES (1 << 20) /* elfutils walks nested debug information */
#define APART_BYTES 4096
#define RETRY_NS 1000000000u    /* after the file could not take a slab */
#define SYMBOLS_NS 10000000000u /* at exit, in real time: somebody is waiting */

static int said;

bool xfs_write_trouble_was_said(void)
{
    return __atomic_load_n(&said, __ATOMIC_RELAXED) != 0;
}

static void say_once(const char *what)
{
    if (xfs_once(&said))
        xfs_log("%s: %s; going on, and counting what is lost", what, strerrordesc_np(errno));
}

static bool write_rows(struct xfs_recorder *recorder, const struct xft_slab *slab, uint32_t from,
                       uint32_t to)
{
    struct xft_chunk chunk = {.lane = slab->lane,
                              .tid = slab->tid,
                              .first_seq = slab->first_seq + from,
                              .rows = to - from};
    struct xft_index_entry entry = xft_index_of(&chunk, xft_slab_events(slab) + from);
    size_t n = xft_pack_events(&recorder->packer, &chunk, xft_slab_events(slab) + from,
                               recorder->packed, recorder->packed_bytes);
    bool good = n > 0 && xfs_file_append_events(&recorder->file, recorder->packed, n, &entry);
    if (!good)
        say_once("cannot write events");
    else
        xfs_periods_wrote(recorder, __atomic_load_n(&recorder->file.end, __ATOMIC_RELAXED));
    return good;
}

/* Rows of zeros are where the file was cut. */
static bool write_cut(struct xfs_recorder *recorder, const struct xft_slab *slab, uint32_t rows)
{
    const struct xft_event *events = xft_slab_events(slab);
    bool good = true;
    for (uint32_t i = 0, from; good && i < rows; i++) {
        for (from = i; i < rows && events[i].kind != XFT_EVENT_NONE;)
            i++;
        good = i == from || write_rows(recorder, slab, from, i);
    }
    return good;
}

bool xfs_write_slab(struct xfs_recorder *recorder, const struct xft_slab *slab)
{
    uint32_t rows = slab->committed, magic = __atomic_load_n(&slab->magic, __ATOMIC_RELAXED);
    if (rows == 0 || magic != XFT_SLAB_MAGIC) /* the file was cut before it */
        return true;
    return write_cut(recorder, slab, rows);
}

void xfs_write_apart(struct xfs_recorder *recorder, const struct xft_event *event)
{
    struct xft_slab *slab = recorder->apart;
    if (slab == NULL) {
        void *page =
            mmap(NULL, APART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return;
        slab = recorder->apart = page;
        slab->magic = XFT_SLAB_MAGIC;
        slab->lane =
            1 + atomic_fetch_add_explicit(&recorder->lanes.lane_count, 1, memory_order_relaxed);
        slab->committed = 1;
    }
    *xft_slab_events(slab) = *event;
    pthread_mutex_lock(&recorder->pack_lock);
    if (xfs_write_slab(recorder, slab))
        slab->first_seq++;
    pthread_mutex_unlock(&recorder->pack_lock);
}

bool xfs_write_list(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                    size_t bytes)
{
    size_t span = xft_segment_span(bytes);
    unsigned char *out =
        mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED)
        return false;
    struct xft_segment head = xft_segment_make(type, 0, payload, bytes, bytes);
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, payload, bytes);
    bool good = xfs_file_append(&recorder->file, out, span);
    munmap(out, span);
    if (!good)
        say_once("cannot write to the trace");
    return good;
}

bool xfs_write_meta(struct xfs_recorder *recorder, const char *key, const char *value)
{
    char pair[8192];
    size_t a = strlen(key) + 1, b = strlen(value) + 1;
    if (a > sizeof pair - 1)
        return false;
    if (b > sizeof pair - a)
        b = sizeof pair - a;
    memcpy(pair, key, a);
    memcpy(pair + a, value, b);
    pair[a + b - 1] = '\0';
    return xfs_room_add(recorder, XFT_SEG_META, pair, a + b);
}

/* ---- the background thread -------------------------------------------------------------- */

/* Nobody wakes it, since that takes a system call; but for the end, where that is allowed. Where
 * nothing has happened for seconds it looks seldom: what is kept ready serves the first while. */
static void rest(struct xfs_recorder *recorder, unsigned idle_rounds)
{
    static const struct {
        unsigned rounds, ms;
    } steps[] = {{8, 1}, {64, 2}, {128, 4}, {256, 8}, {512, 20}, {UINT_MAX, 50}};
    size_t i = 0;
    while (idle_rounds >= steps[i].rounds && steps[i].rounds != UINT_MAX)
        i++;
    unsigned ms = steps[i].ms;
    uint64_t until = xfs_monotonic_ns() + ms * UINT64_C(1000000);
    struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    sem_clockwait(&recorder->wake, CLOCK_MONOTONIC, &at);
}

static void resolve_symbols(struct xfs_recorder *recorder)
{
    if (!recorder->settings->symbols || recorder->stacks.numbers.used == 0)
        return;
    xfs_symbols_function *resolve = xfs_libraries_symbols();
    size_t size = 0;
    void *file = resolve ? xfs_file_map(&recorder->file, &size) : NULL;
    if (file == NULL) {
        xfs_log("%s; `xferscope record` adds names later",
                resolve ? "cannot read the trace back" : XFS_SYMBOLS_MODULE " not found");
        return;
    }
    struct xfs_bus_region *region = xfs_bus_cover(file, size, size);
    resolve(file, size, NULL, &recorder->stop_symbols, &recorder->symbols,
            &recorder->symbols_bytes);
    xfs_bus_leave(region);
    munmap(file, size);
}

/* Whether there was anything to do. */
static bool do_round(struct xfs_recorder *recorder, uint64_t *retry_ns)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    unsigned taken = atomic_load(&lanes->taken);
    bool wrote = false;
    if (xfs_monotonic_ns() < *retry_ns)
        return true;
    xfs_recorder_mend(recorder);
    bool good = xfs_lanes_write_full(recorder, &wrote);
    good = xfs_lanes_supply(recorder) && good;
    good = xfs_rooms_supply(recorder) && good;
    xfs_cost_note(recorder, false);
    xfs_periods_wrote(recorder, __atomic_load_n(&recorder->file.end, __ATOMIC_RELAXED));
    xfs_periods_tick(recorder);
    if (!good)
        say_once("cannot write events");
    atomic_store(&lanes->stuck, !good);
    *retry_ns = good ? 0 : xfs_monotonic_ns() + RETRY_NS;
    return wrote || taken != atomic_load(&lanes->taken) || atomic_load(&lanes->waiting) > 0;
}

static void *run(void *argument)
{
    struct xfs_recorder *recorder = argument;
    int closing = XFS_ENDING_ASKED;
    unsigned idle_rounds = 0;
    uint64_t retry_ns = 0;
    xfs_bus_own_thread();
    while (atomic_load(&recorder->ending) == XFS_ENDING_NOT) {
        xfs_bus_own_thread();
        idle_rounds = do_round(recorder, &retry_ns) ? 0 : idle_rounds + 1;
        rest(recorder, idle_rounds);
    }
    xfs_lanes_settle(&recorder->lanes, recorder->last_lane);
    resolve_symbols(recorder);
    if (atomic_compare_exchange_strong(&recorder->ending, &closing, XFS_ENDING_TAKEN)) {
        xfs_recorder_complete(recorder);
        atomic_store(&recorder->ending, XFS_ENDING_DONE);
    }
    return NULL;
}

/* The file is completed once, by the background thread or else by who ends recording. */
static bool take_on_completion(struct xfs_recorder *recorder)
{
    return !atomic_exchange(&recorder->completion_taken_on, true);
}

void xfs_writer_start(struct xfs_recorder *recorder)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    xfs_rooms_supply(recorder);
    xfs_lanes_supply(recorder); /* before threads rely on it */
    if (!take_on_completion(recorder))
        return; /* recording has ended meanwhile */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's handlers run in the program's threads */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, recorder);
    if (error == 0)
        pthread_setname_np(thread, "xferscope");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store(&recorder->writer_runs, error == 0);
    if (error == 0)
        return;
    xfs_log("cannot start a thread (%s): threads write their own events", strerrordesc_np(error));
    atomic_store(&recorder->completion_taken_on, false);
}

/* Another thread may be about to start the background thread, and may fail. */
static bool wait_for_end(struct xfs_recorder *recorder)
{
    uint64_t until = xfs_monotonic_ns() + SYMBOLS_NS;
    for (;;) {
        int asked = XFS_ENDING_ASKED;
        if (atomic_load(&recorder->ending) == XFS_ENDING_DONE)
            return true;
        if (take_on_completion(recorder)) {
            xfs_lanes_settle(&recorder->lanes, recorder->last_lane);
            xfs_recorder_complete(recorder);
            return true;
        }
        if (xfs_monotonic_ns() > until &&
            atomic_compare_exchange_strong(&recorder->ending, &asked, XFS_ENDING_GIVEN_UP))
            return false;
        xfs_lanes_pause();
    }
}

void xfs_writer_finish(struct xfs_recorder *recorder, const struct xfs_lane *own)
{
    recorder->last_lane = own;
    atomic_store(&recorder->ending, XFS_ENDING_ASKED);
    if (xfs_may_call_kernel())
        sem_post(&recorder->wake);
    if (!wait_for_end(recorder)) {
        __atomic_store_n(&recorder->stop_symbols, 1, __ATOMIC_RELAXED);
        xfs_log("names took too long; the trace stays as it is: `xferscope record` completes it");
    }
}
