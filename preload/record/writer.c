#include "preload/record/recorder.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/apart.h"
#include "preload/base/descriptors.h"
#include "preload/base/last_thread.h"
#include "preload/base/log.h"
#include "preload/base/pause.h"
#include "preload/base/sandbox.h"
#include "preload/record/bus.h"
#include "preload/record/notes.h"
#include "preload/record/others.h"

#define STACK_BYTES (1 << 20)   /* elfutils recurses into debug information */
#define RETRY_NS 1000000000u    /* after a failed write */
#define BEGIN_NS 60000000000u   /* a machine may be slow */
#define SYMBOLS_NS 10000000000u /* at exit, in real time: the user waits */

/* ---- the background thread -------------------------------------------------------------- */

/* Threads wake it only when they wait for it and may make a system call. After seconds without
 * events it looks rarely: the slabs that are kept ready suffice for the first moments. */
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

/* Keeps the errno of a round's first failure. */
static bool went_well(bool good, int *error)
{
    if (!good && *error == 0)
        *error = errno;
    return good;
}

/* True when there was work, so that the next round is due soon. */
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
    xfs_size_wrote(recorder->settings->most_bytes,
                   __atomic_load_n(&recorder->file.end, __ATOMIC_RELAXED));
    xfs_periods_tick(recorder);
    errno = error;
    if (!good)
        xfs_write_trouble("cannot write events");
    atomic_store(&lanes->stuck, !good);
    *retry_ns = good ? 0 : xfs_monotonic_ns() + RETRY_NS;
    return wrote || taken != atomic_load(&lanes->taken) || atomic_load(&lanes->waiting) > 0;
}

/* ---- the background thread: its life ------------------------------------------------------ */

/* The thread that waits may have given up: then the file is removed again. */
static bool begin(struct xfs_recorder *recorder)
{
    int beginning = XFS_BEGINNING;
    xfs_writer_here();
    xfs_apart_add((int)gettid());
    pthread_setname_np(pthread_self(), "xferscope");
    xfs_bus_own_thread();
    recorder->shares_descriptors = !xfs_own_descriptors();
    if (recorder->shares_descriptors)
        xfs_verbose("the trace's descriptor is one of the program's: %s", strerrordesc_np(errno));
    bool good = recorder->open(recorder);
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

/* True until no call is in flight, within a bounded time. */
static bool goes_on(struct xfs_recorder *recorder, int *rounds)
{
    int ending = atomic_load(&recorder->ending);
    if (ending == XFS_ENDING_CALLS && xfs_lanes_await_calls(recorder, rounds))
        return true;
    return ending == XFS_ENDING_NOT;
}

/* Ends recording, unless the thread that waits for it gave up. */
static void end(struct xfs_recorder *recorder)
{
    int calls = XFS_ENDING_CALLS, asked = XFS_ENDING_ASKED;
    if (!atomic_compare_exchange_strong(&recorder->ending, &calls, XFS_ENDING_ASKED))
        return;
    xfs_record_stop(recorder);
    xfs_lanes_await_writers(&recorder->lanes, recorder->last_lane);
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
        xfs_writer_serve(recorder);
        xfs_last_thread_look(xfs_monotonic_ns());
        if (!recorder->shares_descriptors)
            xfs_others_list(xfs_monotonic_ns());
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

/* Long enough to make a file on a slow disk. */
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

bool xfs_writer_start(struct xfs_recorder *recorder, bool (*open)(struct xfs_recorder *))
{
    recorder->open = open;
    int error = create_thread(recorder);
    if (error == 0)
        return wait_for_beginning(recorder);
    xfs_log("cannot start a thread (%s): threads write their own events", strerrordesc_np(error));
    recorder->shares_descriptors = true;
    return open(recorder);
}

/* Without a background thread, the one that ends recording does its work. */
static void end_alone(struct xfs_recorder *recorder)
{
    int rounds = 0;
    while (xfs_lanes_await_calls(recorder, &rounds))
        ;
    atomic_store(&recorder->ending, XFS_ENDING_ASKED);
    xfs_record_stop(recorder);
    xfs_lanes_await_writers(&recorder->lanes, recorder->last_lane);
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
        xfs_pause();
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
