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
#include "preload/record/hot.h"
#include "preload/base/log.h"
#include "preload/record/notes.h"
#include "preload/base/own_stack.h"
#include "preload/record/recorder.h"
#include "preload/base/sandbox.h"

#define START_ROUNDS 20000 /* moments */

/* ---- life ------------------------------------------------------------------------------- */

enum state { STATE_NEW, STATE_ON, STATE_OFF, STATE_CLOSED };

struct xfs_life *_Atomic xfs_life;
XFS_TLS struct xfs_lane *xfs_self;
static XFS_TLS bool entered; /* in the slow path: a signal handler, or a malloc that uses CUDA */

static pthread_key_t lane_key;
static bool registered;

static struct xfs_recorder *current_recorder(void)
{
    struct xfs_life *l = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return l ? atomic_load_explicit(&l->current, memory_order_acquire) : NULL;
}

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

/* For kernels without MADV_WIPEONFORK, and for the thread-local half. */
static void in_child(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    if (l)
        memset(l, 0, sizeof *l);
    xfs_self = NULL;
    entered = false;
}

static void thread_ends(void *lane)
{
    struct xfs_lane *ending = lane;
    xfs_self = NULL;
    if (ending->recorder == current_recorder()) {
        struct xfs_guard guard = xfs_guard_enter();
        xfs_lane_close(ending);
        xfs_guard_leave(guard);
    }
    xfs_own_stack_give_back();
    xfs_thread_leaves();
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
    if (!registered)
        registered = pthread_key_create(&lane_key, thread_ends) == 0;
    if (settings->enable && registered)
        recorder = xfs_recorder_create(settings);
    else if (settings->enable)
        refuse(settings, "cannot record: the program has used up the thread-specific keys");
    atomic_store(&l->current, recorder);
    atomic_store(&l->begins, recorder);
    atomic_store(&l->state, recorder ? STATE_ON : STATE_OFF);
    return recorder;
}

/* Others record meanwhile: only the first part is done under the lock. */
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

static struct xfs_lane *attach(struct xfs_recorder *recorder)
{
    if (xfs_self && xfs_self->recorder == recorder)
        return xfs_self;
    uint64_t from_ns = xfs_now_apart_ns();
    xfs_self = xfs_lane_open(recorder);
    xfs_own_stack_keep();
    if (xfs_self == NULL) {
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
        return NULL;
    }
    pthread_setspecific(lane_key, xfs_self);
    xfs_cost_attached(xfs_self, from_ns);
    return xfs_self;
}

/* Of threads that go on while the process ends, and end with it. */
static void count_after_end(struct xfs_life *l)
{
    struct xfs_recorder *recorder = l ? atomic_load(&l->closed) : NULL;
    if (recorder)
        xfs_count_calls_after_end(recorder, 1);
}

/* It is off, or this is a call of our own. */
static inline bool is_kept_out(void)
{
    struct xfs_life *known = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return entered ||
           (known && atomic_load_explicit(&known->state, memory_order_relaxed) == STATE_OFF);
}

static bool make_ready(bool is_call)
{
    if (is_kept_out())
        return false;
    struct xfs_guard guard = xfs_guard_enter();
    entered = true;
    struct xfs_life *l = get_life();
    if (l && atomic_load(&l->state) == STATE_NEW)
        xfs_on_large_stack(start_once, l);
    struct xfs_recorder *recorder = l ? atomic_load(&l->begins) : NULL;
    bool ready = recorder && attach(recorder) != NULL;
    if (recorder == NULL && is_call)
        count_after_end(l);
    entered = false;
    xfs_guard_leave(guard);
    return ready;
}

XFS_COLD bool xfs_record_ready_slowly(void)
{
    return make_ready(true);
}

static bool prepare_slowly(void);

/* As every call does: stores that it is one, and then looks. The end may have come while the thread
 * got its lane, and did not wait for it: it waits for those who have a slab. */
static bool let_in(bool is_call)
{
    bool ready = make_ready(is_call);
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL)
        return ready;
    if (ready && lane->slab == NULL)
        (void)prepare_slowly();
    __atomic_store_n(&lane->calling, ready, __ATOMIC_SEQ_CST);
    if (!ready || xfs_lane_open_to_calls(lane))
        return ready;
    xfs_call_over(lane);
    if (is_call)
        count_after_end(atomic_load(&xfs_life));
    return false;
}

XFS_COLD bool xfs_call_ready_slowly(void)
{
    if (xfs_self == NULL && is_kept_out()) /* each call, where recording is off */
        return false;
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

/* ---- events ----------------------------------------------------------------------------- */

bool xfs_recording(void)
{
    return current_recorder() != NULL;
}

static XFS_COLD void lose_event(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *recorder = current_recorder();
    if (recorder == NULL && l)
        recorder = atomic_load(&l->closed);
    if (recorder)
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
}

XFS_COLD void xfs_record_left(void)
{
    struct xfs_lane *lane = xfs_self;
    entered = false;
    if (lane && lane->recorder == current_recorder()) {
        lane->busy = lane->in_stack = lane->place.busy = false;
        xfs_lane_done(lane);
        xfs_call_over(lane);
    }
    lose_event();
}

static bool refill(struct xfs_lane *lane)
{
    bool first = lane->slab == NULL;
    xfs_cost_unusual(first ? XFT_OVERHEAD_THREAD : XFT_OVERHEAD_SLAB);
    return xfs_lane_refill(lane);
}

/* A first event, a full slab, or none of ours to take. */
static bool prepare_slowly(void)
{
    struct xfs_recorder *recorder = current_recorder();
    if (entered || recorder == NULL ||
        (xfs_self && xfs_self->recorder == recorder && xfs_self->busy))
        return false;
    struct xfs_guard guard = xfs_guard_enter();
    entered = true;
    struct xfs_lane *lane = attach(recorder);
    bool room = false;
    if (lane) {
        xfs_lane_claim(lane);
        room = recorder == current_recorder() && (lane->next < lane->room || refill(lane));
        xfs_lane_done(lane);
    }
    entered = false;
    xfs_guard_leave(guard);
    return room;
}

XFS_COLD struct xfs_lane *xfs_take_lane_slowly(void)
{
    if (!prepare_slowly()) {
        lose_event();
        return NULL;
    }
    xfs_self->busy = true;
    return xfs_self;
}

struct xft_event *xfs_event_begin(void)
{
    struct xfs_lane *lane = xfs_take_lane();
    if (lane == NULL)
        return NULL;
    lane->event = (struct xft_event){0};
    return &lane->event;
}

/* Recording has ended since, or a handler forked and this is the child. */
XFS_COLD void xfs_not_appended(void)
{
    if (current_recorder() == NULL)
        lose_event();
}

void xfs_event_commit(struct xft_event *event)
{
    struct xfs_lane *lane = xfs_self;
    if (lane && event == &lane->event)
        xfs_lane_append(lane, event);
}

void xfs_event_write(const struct xft_event *event)
{
    xfs_event_write_now(event);
}

/* What is done on our own stack, with its arguments and its answer. */
struct capture {
    struct xfs_recorder *recorder;
    struct xfs_registers from;
    uint32_t id;
};

static void capture(void *arguments)
{
    struct capture *c = arguments;
    uint64_t addresses[XFS_STACK_FRAMES];
    uint32_t depth =
        xfs_stacks_take(c->recorder, &c->from, addresses, c->recorder->settings->stack_depth);
    c->id = depth ? xfs_stacks_intern(c->recorder, addresses, depth) : 0;
}

uint32_t xfs_stack_capture(void)
{
    struct capture c = {.recorder = current_recorder()};
    struct xfs_lane *lane = xfs_self;
    if (c.recorder == NULL || lane == NULL || lane->recorder != c.recorder ||
        !c.recorder->settings->stacks)
        return 0;
    const struct xfs_libraries *libraries =
        atomic_load_explicit(&c.recorder->libraries, memory_order_acquire);
    if (libraries == NULL || c.recorder->stacks.numbers.slots == NULL || lane->in_stack ||
        entered) {
        xfs_count_lost(c.recorder, XFT_LOSS_STACKS, 1);
        return 0;
    }
    struct xfs_guard guard = xfs_guard_enter();
    lane->in_stack = true;
    c.from = xfs_registers_here();
    if (!xfs_on_own_stack(capture, &c))
        xfs_count_lost(c.recorder, XFT_LOSS_STACKS, 1);
    lane->in_stack = false;
    xfs_guard_leave(guard);
    return c.id;
}

/* Work that may not be entered again by a signal handler on top of it, which would wait for locks
 * that this thread holds. */
static bool alone(void (*work)(void *), void *arguments)
{
    struct xfs_guard guard = xfs_guard_enter();
    entered = true;
    bool done = xfs_on_own_stack(work, arguments);
    entered = false;
    xfs_guard_leave(guard);
    return done;
}

struct place {
    struct xfs_recorder *recorder;
    uint64_t address;
    uint32_t id;
};

static void intern_place(void *arguments)
{
    struct place *place = arguments;
    place->id = xfs_stacks_intern(place->recorder, &place->address, 1);
}

uint32_t xfs_stack_of(uint64_t instruction)
{
    struct place place = {current_recorder(), instruction + 1, 0}; /* return addresses are kept */
    if (place.recorder == NULL || entered || instruction == 0 ||
        place.recorder->stacks.numbers.slots == NULL)
        return 0;
    if (!alone(intern_place, &place))
        xfs_count_lost(place.recorder, XFT_LOSS_STACKS, 1);
    return place.id;
}

struct name {
    struct xfs_recorder *recorder;
    const char *text;
    size_t bytes;
    uint32_t id;
};

static void intern_name(void *arguments)
{
    struct name *name = arguments;
    name->id = xfs_names_intern(name->recorder, name->text, name->bytes);
}

uint32_t xfs_name(const char *text, size_t bytes)
{
    struct name name = {current_recorder(), text, bytes, 0};
    if (name.recorder == NULL || entered)
        return 0;
    alone(intern_name, &name);
    return name.id;
}

struct pointers {
    struct xfs_recorder *recorder;
    const uint64_t *pointers;
    uint32_t count, id;
};

static void intern_pointers(void *arguments)
{
    struct pointers *p = arguments;
    p->id = xfs_arguments_intern(p->recorder, p->pointers, p->count);
}

uint32_t xfs_arguments_id(const uint64_t *pointers, uint32_t count)
{
    struct pointers p = {current_recorder(), pointers, count, 0};
    if (p.recorder)
        p.id = xfs_arguments_find(p.recorder, pointers, count);
    if (p.recorder && p.id == 0) {
        xfs_cost_unusual(XFT_OVERHEAD_ARGUMENTS);
        if (entered || !alone(intern_pointers, &p))
            xfs_count_lost(p.recorder, XFT_LOSS_ARGUMENTS, 1);
    }
    return p.id;
}

struct elsewhere {
    struct xfs_recorder *recorder;
    void (*work)(void *);
    void *argument;
    bool done;
};

static void do_elsewhere(void *arguments)
{
    struct elsewhere *e = arguments;
    e->done = xfs_writer_do(e->recorder, e->work, e->argument);
}

bool xfs_do_apart(void (*work)(void *), void *argument)
{
    struct elsewhere e = {current_recorder(), work, argument, false};
    return e.recorder && !entered && alone(do_elsewhere, &e) && e.done;
}

struct meta {
    struct xfs_recorder *recorder;
    const char *key, *value;
};

static void write_meta(void *arguments)
{
    struct meta *meta = arguments;
    xfs_write_meta(meta->recorder, meta->key, meta->value);
}

void xfs_meta_set(const char *key, const char *value)
{
    struct meta meta = {current_recorder(), key, value};
    if (meta.recorder && !entered)
        alone(write_meta, &meta);
}

void xfs_count_device_lost(uint64_t n)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *recorder = current_recorder();
    if (recorder == NULL && l)
        recorder = atomic_load(&l->closed);
    if (recorder)
        xfs_count_lost(recorder, XFT_LOSS_DEVICE, n);
}

/* ---- the end ---------------------------------------------------------------------------- */

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

/* Another thread may be about to begin. */
static void await_start(struct xfs_life *l)
{
    struct xfs_guard guard = xfs_guard_enter();
    int i = 0;
    for (; i < START_ROUNDS && pthread_mutex_trylock(&l->lock) != 0; i++)
        xfs_lanes_pause();
    if (i < START_ROUNDS)
        pthread_mutex_unlock(&l->lock);
    xfs_guard_leave(guard);
}

void xfs_record_stop(struct xfs_recorder *recorder)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *current = recorder;
    if (l)
        atomic_compare_exchange_strong(&l->current, &current, NULL);
}

/* A destructor of the library: it runs after the program's own exit handlers and destructors, so
 * that what they copy is recorded. The child of a vfork that calls exit() is not this process.
 *
 * Threads may go on until the process is gone. Calls that begin from here on are not the run's any
 * more; those under way are still recorded, or counted as lost if they take too long. */
__attribute__((destructor)) static void process_ends(void)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    if (l && !entered)
        await_start(l);
    struct xfs_recorder *recorder = current_recorder();
    unsigned failed;
    if (recorder == NULL || (xfs_may_call_kernel() && recorder->pid != getpid()))
        return;
    struct xfs_guard guard = xfs_guard_enter();
    entered = true;
    atomic_store(&l->closed, recorder);
    atomic_store(&l->state, STATE_CLOSED);
    atomic_store(&l->begins, NULL);
    if (xfs_checks_failed(&failed))
        xfs_on_own_stack(tell_checks, recorder);
    if (atomic_load(&recorder->writer_runs))
        finish(recorder); /* it only waits */
    else
        xfs_on_large_stack(finish, recorder);
    entered = false;
    xfs_guard_leave(guard);
}
