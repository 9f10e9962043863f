#include "preload/record/recorder.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/base/attributes.h"
#include "preload/base/descriptors.h"
#include "preload/base/last_thread.h"
#include "preload/base/log.h"
#include "preload/base/sandbox.h"
#include "preload/format/index.h"
#include "preload/format/segments.h"
#include "preload/record/bus.h"

#define STACK_BYTES (1 << 20) /* elfutils walks nested debug information */
#define APART_BYTES 4096
#define RETRY_NS 1000000000u    /* after the file could not take a slab */
#define BEGIN_NS 60000000000u   /* a machine may be slow */
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
        if (page == MAP_FAILED) {
            xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
            return;
        }
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
    else
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
    pthread_mutex_unlock(&recorder->pack_lock);
}

struct appending {
    struct xfs_file *file;
    const void *segments;
    size_t bytes;
    bool good;
};

static void append(void *argument)
{
    struct appending *a = argument;
    a->good = xfs_file_append(a->file, a->segments, a->bytes);
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
    struct appending appending = {&recorder->file, out, span, false};
    bool done = xfs_writer_do(recorder, append, &appending), good = done && appending.good;
    munmap(out, span);
    if (done && !good)
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

/* Nobody need wake it, since that takes a system call; where that is allowed, those do who wait for
 * it. Where nothing has happened for seconds it looks seldom: what is kept ready serves the first
 * while. */
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
    if (sem_clockwait(&recorder->wake, CLOCK_MONOTONIC, &at) == 0)
        while (sem_trywait(&recorder->wake) == 0) /* many threads, one need */
            ;
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

/* What is said of a round is why its first step failed. */
static bool went_well(bool good, int *error)
{
    if (!good && *error == 0)
        *error = errno;
    return good;
}

/* Whether there was anything to do. */
static bool do_round(struct xfs_recorder *recorder, uint64_t *retry_ns)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    unsigned taken = atomic_load(&lanes->taken);
    bool wrote = false;
    int error = 0;
    if (xfs_monotonic_ns() < *retry_ns)
        return true;
    xfs_recorder_mend(recorder);
    bool good = went_well(xfs_lanes_write_full(recorder, &wrote), &error);
    good = went_well(xfs_lanes_supply(recorder), &error) && good;
    good = went_well(xfs_rooms_supply(recorder), &error) && good;
    xfs_cost_note(recorder, false);
    xfs_periods_wrote(recorder, __atomic_load_n(&recorder->file.end, __ATOMIC_RELAXED));
    xfs_periods_tick(recorder);
    errno = error;
    if (!good)
        say_once("cannot write events");
    atomic_store(&lanes->stuck, !good);
    *retry_ns = good ? 0 : xfs_monotonic_ns() + RETRY_NS;
    return wrote || taken != atomic_load(&lanes->taken) || atomic_load(&lanes->waiting) > 0;
}

/* ---- the background thread: what others ask for ------------------------------------------ */

enum { NOTHING_ASKED, ASKED, TAKEN, DONE };

static XFS_TLS bool is_writer;

void xfs_writer_wake(struct xfs_recorder *recorder)
{
    if (xfs_may_call_kernel())
        sem_post(&recorder->wake);
}

/* What has been begun is waited for. */
static bool wait_for_work(struct xfs_recorder *recorder)
{
    atomic_int *state = &recorder->asked.state;
    uint64_t since = 0;
    for (int asked; atomic_load(state) != DONE;) {
        asked = ASKED;
        if (!xfs_lanes_wait(recorder, &since) &&
            atomic_compare_exchange_strong(state, &asked, NOTHING_ASKED))
            return false;
    }
    atomic_store(state, NOTHING_ASKED);
    return true;
}

bool xfs_writer_do(struct xfs_recorder *recorder, void (*work)(void *), void *argument)
{
    struct xfs_asked *asked = &recorder->asked;
    uint64_t since = 0;
    if (is_writer || !atomic_load(&recorder->writer_runs)) {
        work(argument);
        return true;
    }
    while (atomic_flag_test_and_set(&asked->taken))
        if (!xfs_lanes_wait(recorder, &since))
            return false;
    asked->work = work;
    asked->argument = argument;
    atomic_store(&asked->state, ASKED);
    xfs_writer_wake(recorder);
    bool done = wait_for_work(recorder);
    atomic_flag_clear(&asked->taken);
    return done;
}

static void serve(struct xfs_recorder *recorder)
{
    int asked = ASKED;
    if (!atomic_compare_exchange_strong(&recorder->asked.state, &asked, TAKEN))
        return;
    recorder->asked.work(recorder->asked.argument);
    atomic_store(&recorder->asked.state, DONE);
}

/* ---- the background thread: its life ------------------------------------------------------ */

/* Whoever waits may have given up: what was made for him goes. */
static bool begin(struct xfs_recorder *recorder)
{
    int beginning = XFS_BEGINNING;
    is_writer = true;
    pthread_setname_np(pthread_self(), "xferscope");
    xfs_bus_own_thread();
    recorder->shares_descriptors = !xfs_own_descriptors();
    if (recorder->shares_descriptors)
        xfs_verbose("the trace's descriptor is one of the program's: %s", strerrordesc_np(errno));
    bool good = xfs_recorder_open(recorder);
    recorder->refusal = errno;
    atomic_store(&recorder->writer_runs, good);
    bool wanted = atomic_compare_exchange_strong(&recorder->beginning, &beginning,
                                                 good ? XFS_BEGUN : XFS_REFUSED);
    if (good && wanted && !recorder->shares_descriptors)
        xfs_last_thread_watched();
    if (wanted)
        sem_post(&recorder->begun);
    else if (good)
        xfs_file_discard(&recorder->file);
    return good && wanted;
}

/* Until no call is under way any more, or too long. */
static bool goes_on(struct xfs_recorder *recorder, int *rounds)
{
    int ending = atomic_load(&recorder->ending);
    if (ending == XFS_ENDING_CALLS && xfs_lanes_await_calls(recorder, rounds))
        return true;
    return ending == XFS_ENDING_NOT;
}

/* The end, unless whoever waits for it gave up. */
static void end(struct xfs_recorder *recorder)
{
    int calls = XFS_ENDING_CALLS, asked = XFS_ENDING_ASKED;
    if (!atomic_compare_exchange_strong(&recorder->ending, &calls, XFS_ENDING_ASKED))
        return;
    xfs_record_stop(recorder);
    xfs_lanes_settle(&recorder->lanes, recorder->last_lane);
    resolve_symbols(recorder);
    if (atomic_compare_exchange_strong(&recorder->ending, &asked, XFS_ENDING_TAKEN)) {
        xfs_recorder_complete(recorder);
        atomic_store(&recorder->ending, XFS_ENDING_DONE);
    }
}

static void *run(void *argument)
{
    struct xfs_recorder *recorder = argument;
    unsigned idle_rounds = 0;
    int rounds = 0;
    uint64_t retry_ns = 0;
    if (!begin(recorder))
        return NULL;
    while (goes_on(recorder, &rounds)) {
        xfs_bus_own_thread();
        serve(recorder);
        xfs_last_thread_look(xfs_monotonic_ns());
        idle_rounds = do_round(recorder, &retry_ns) ? 0 : idle_rounds + 1;
        if (atomic_load(&recorder->ending) == XFS_ENDING_NOT)
            rest(recorder, idle_rounds);
    }
    end(recorder);
    return NULL;
}

/* ---- its beginning and its end, as others see them ---------------------------------------- */

static int create_thread(struct xfs_recorder *recorder)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's handlers run in the program's threads */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* As long as it takes to make a file on a slow disk. */
static bool wait_for_beginning(struct xfs_recorder *recorder)
{
    int beginning = XFS_BEGINNING;
    uint64_t until = xfs_monotonic_ns() + BEGIN_NS;
    struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    while (sem_clockwait(&recorder->begun, CLOCK_MONOTONIC, &at) != 0)
        if (errno != EINTR && atomic_compare_exchange_strong(&recorder->beginning, &beginning,
                                                             XFS_BEGINNING_GIVEN_UP)) {
            errno = ETIMEDOUT;
            return false;
        }
    bool begun = atomic_load(&recorder->beginning) == XFS_BEGUN;
    errno = recorder->refusal;
    return begun;
}

bool xfs_writer_start(struct xfs_recorder *recorder)
{
    int error = create_thread(recorder);
    if (error == 0)
        return wait_for_beginning(recorder);
    xfs_log("cannot start a thread (%s): threads write their own events", strerrordesc_np(error));
    recorder->shares_descriptors = true;
    return xfs_recorder_open(recorder);
}

/* In the thread that ends recording: there is no other. */
static void end_alone(struct xfs_recorder *recorder)
{
    int rounds = 0;
    while (xfs_lanes_await_calls(recorder, &rounds))
        ;
    atomic_store(&recorder->ending, XFS_ENDING_ASKED);
    xfs_record_stop(recorder);
    xfs_lanes_settle(&recorder->lanes, recorder->last_lane);
    xfs_recorder_complete(recorder);
}

static bool wait_for_end(struct xfs_recorder *recorder)
{
    uint64_t until = xfs_monotonic_ns() + SYMBOLS_NS;
    while (atomic_load(&recorder->ending) != XFS_ENDING_DONE) {
        int calls = XFS_ENDING_CALLS, asked = XFS_ENDING_ASKED;
        if (xfs_monotonic_ns() > until &&
            (atomic_compare_exchange_strong(&recorder->ending, &asked, XFS_ENDING_GIVEN_UP) ||
             atomic_compare_exchange_strong(&recorder->ending, &calls, XFS_ENDING_GIVEN_UP)))
            return false;
        xfs_lanes_pause();
    }
    return true;
}

void xfs_writer_finish(struct xfs_recorder *recorder, const struct xfs_lane *own)
{
    recorder->last_lane = own;
    atomic_store(&recorder->ending, XFS_ENDING_CALLS);
    if (!atomic_load(&recorder->writer_runs)) {
        end_alone(recorder);
        return;
    }
    xfs_writer_wake(recorder);
    if (!wait_for_end(recorder)) {
        __atomic_store_n(&recorder->stop_symbols, 1, __ATOMIC_RELAXED);
        xfs_log("names took too long; the trace stays as it is: `xferscope record` completes it");
    }
    if (xfs_may_call_kernel())
        xfs_log_say_kept();
}
