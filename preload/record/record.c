#include "preload/record/record.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/check.h"
#include "preload/base/guard.h"
#include "preload/base/last_thread.h"
#include "preload/record/lanes.h"
#include "preload/base/log.h"
#include "preload/record/notes.h"
#include "preload/base/own_stack.h"
#include "preload/base/pause.h"
#include "preload/record/recorder.h"
#include "preload/base/sandbox.h"

#define START_ROUNDS 20000 /* moments */
#define HELD_ROUNDS 200    /* some microseconds awake: calls are held that long */

/* ---- life ------------------------------------------------------------------------------- */

enum state { STATE_NEW, STATE_ON, STATE_OFF, STATE_CLOSED };

atomic_bool xfs_switched_off;

static struct xfs_life *get_life(void)
{
    struct xfs_life *l = atomic_load(&xfs_life), *none = NULL;
    if (l)
        return l;
    l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l == MAP_FAILED)
        return NULL;
    madvise(l, sizeof *l, MADV_WIPEONFORK);
    if (atomic_compare_exchange_strong(&xfs_life, &none, l))
        return l;
    munmap(l, sizeof *l);
    return none;
}

/* For kernels without MADV_WIPEONFORK, and for thread-local state. */
static void in_child(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    if (l)
        memset(l, 0, sizeof *l);
    xfs_self = NULL;
    xfs_entered = false;
}

static void refuse(const struct xfs_settings *settings, const char *why)
{
    xfs_log("%s", why);
    xfs_notes_open(settings->run);
    xfs_notes_refused(why);
}

/* Lock held. */
static struct xfs_recorder *start(struct xfs_life *l)
{
    xfs_log_start();
    const struct xfs_settings *settings = xfs_settings();
    struct xfs_recorder *recorder = NULL;
    bool watched = xfs_threads_watch();
    atomic_store(&xfs_switched_off, !settings->enable);
    if (settings->enable && watched)
        recorder = xfs_recorder_create(settings);
    else if (settings->enable)
        refuse(settings, "cannot record: the program has used up the thread-specific keys");
    atomic_store(&l->current, recorder);
    atomic_store(&l->begins, recorder);
    atomic_store(&l->state, recorder ? STATE_ON : STATE_OFF);
    return recorder;
}

/* Other threads record meanwhile: only the first part holds the lock. */
static void start_once(void *life)
{
    static atomic_bool fork_watched;
    struct xfs_life *l = life;
    struct xfs_recorder *started = NULL;
    pthread_mutex_lock(&l->lock);
    if (atomic_load(&l->state) == STATE_NEW)
        started = start(l);
    pthread_mutex_unlock(&l->lock);
    if (started == NULL)
        return;
    if (!atomic_exchange(&fork_watched, true))
        pthread_atfork(NULL, NULL, in_child);
    xfs_last_thread_begun();
    xfs_recorder_equip(started);
}

/* A call of a thread that goes on while the process ends. */
static void count_after_end(struct xfs_life *l)
{
    struct xfs_recorder *recorder = l ? atomic_load(&l->closed) : NULL;
    if (recorder)
        xfs_count_calls_after_end(recorder, 1);
}

/* Recording is off, or this is a call of the recorder's own. */
static inline bool is_kept_out(void)
{
    struct xfs_life *known = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return xfs_entered ||
           (known && atomic_load_explicit(&known->state, memory_order_relaxed) == STATE_OFF);
}

static bool make_ready(bool is_call)
{
    if (is_kept_out())
        return false;
    struct xfs_guard guard = xfs_guard_enter();
    xfs_entered = true;
    struct xfs_life *l = get_life();
    if (l && atomic_load(&l->state) == STATE_NEW)
        xfs_on_large_stack(start_once, l);
    struct xfs_recorder *recorder = l ? atomic_load(&l->begins) : NULL;
    if (recorder == XFS_HELD)
        recorder = atomic_load(&l->current);
    bool ready = recorder && xfs_thread_attach(recorder) != NULL;
    if (recorder == NULL && is_call)
        count_after_end(l);
    xfs_entered = false;
    xfs_guard_leave(guard);
    return ready;
}

XFS_COLD bool xfs_record_ready_slowly(void)
{
    return make_ready(true);
}

static bool are_held(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    return l && atomic_load(&l->begins) == XFS_HELD;
}

/* As every call does: stores that it is one, then checks whether recording has ended. The end may
 * have come while the thread got its lane, and did not wait for it: it waits only for threads that
 * have a slab. */
static bool let_in_now(bool is_call)
{
    bool ready = make_ready(is_call);
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL)
        return ready;
    if (ready && lane->slab == NULL)
        (void)xfs_thread_prepare();
    __atomic_store_n(&lane->calling, ready, __ATOMIC_SEQ_CST);
    if (!ready || xfs_lane_open_to_calls(lane))
        return ready;
    xfs_call_over(lane);
    if (is_call && !are_held())
        count_after_end(atomic_load(&xfs_life));
    return false;
}

/* A call that is held back is not under way, and waits until calls may begin, which they may in a
 * bounded time. */
static bool let_in(bool is_call)
{
    bool ready;
    if (xfs_holding)
        return false;
    do {
        if (xfs_self && are_held())
            xfs_call_over(xfs_self);
        for (unsigned i = 0; are_held(); i++)
            if (i < HELD_ROUNDS)
                __builtin_ia32_pause();
            else
                xfs_pause();
        ready = let_in_now(is_call);
    } while (!ready && are_held());
    return ready;
}

XFS_COLD bool xfs_call_ready_slowly(void)
{
    if (xfs_self == NULL && is_kept_out()) /* the path of each call where recording is off */
        return false;
    if (xfs_self) /* what it asked for was before, or in another period */
        xfs_self->poll.queries = 0;
    return let_in(true);
}

XFS_COLD bool xfs_aside_begins(void)
{
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL)
        return let_in(false);
    if (lane->calling)
        return true;
    __atomic_store_n(&lane->calling, true, __ATOMIC_SEQ_CST);
    return xfs_lane_open_to_calls(lane) || let_in(false);
}

bool xfs_record_ready(void)
{
    struct xfs_lane *lane = xfs_self;
    return (lane && xfs_lane_open_to_calls(lane)) || xfs_record_ready_slowly();
}

/* ---- the end ---------------------------------------------------------------------------- */

void (*xfs_before_the_end)(void);

static void tell_last(void *unused)
{
    xfs_before_the_end();
}

static void tell_checks(void *ending)
{
    unsigned count;
    const char *words = xfs_checks_failed(&count);
    char text[256];
    snprintf(text, sizeof text, "%u: %s", count, words ? words : "");
    xfs_write_meta(ending, "checks.failed", text);
}

static void finish(void *ending)
{
    struct xfs_recorder *recorder = ending;
    xfs_writer_finish(recorder, xfs_self);
}

/* Waits for another thread that is starting the recorder. */
static void await_start(struct xfs_life *l)
{
    struct xfs_guard guard = xfs_guard_enter();
    int i = 0;
    for (; i < START_ROUNDS && pthread_mutex_trylock(&l->lock) != 0; i++)
        xfs_pause();
    if (i < START_ROUNDS)
        pthread_mutex_unlock(&l->lock);
    xfs_guard_leave(guard);
}

/* A destructor of the library: it runs after the program's own exit handlers and destructors, so
 * that what they copy is recorded. The child of a vfork that calls exit() is not this process.
 *
 * Threads may go on until the process is gone. Calls that begin from here on do not belong to the
 * run; those in flight are still recorded, or counted as lost if they take too long. */
__attribute__((destructor)) static void process_ends(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    if (l && !xfs_entered)
        await_start(l);
    struct xfs_recorder *recorder = xfs_recorder_current();
    unsigned failed;
    if (recorder == NULL || (xfs_may_call_kernel() && recorder->pid != getpid()))
        return;
    struct xfs_guard guard = xfs_guard_enter();
    if (xfs_before_the_end)
        xfs_on_own_stack(tell_last, NULL);
    xfs_entered = true;
    atomic_store(&l->closed, recorder);
    atomic_store(&l->state, STATE_CLOSED);
    atomic_store(&l->begins, NULL);
    if (xfs_checks_failed(&failed))
        xfs_on_own_stack(tell_checks, recorder);
    if (atomic_load(&recorder->writer_runs))
        finish(recorder); /* it only waits */
    else
        xfs_on_large_stack(finish, recorder);
    xfs_entered = false;
    xfs_guard_leave(guard);
}
