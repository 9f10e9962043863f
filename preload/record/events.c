#include "preload/record/events.h"

#include <pthread.h>
#include <stdatomic.h>

#include "preload/base/guard.h"
#include "preload/base/last_thread.h"
#include "preload/base/own_stack.h"
#include "preload/record/hot.h"
#include "preload/record/recorder.h"
#include "preload/record/remembered.h"

/* ---- the thread's lane -------------------------------------------------------------------- */

static pthread_key_t lane_key;

static void thread_ends(void *lane)
{
    struct xfs_lane *ending = lane;
    xfs_self = NULL;
    if (ending->recorder == xfs_recorder_current()) {
        struct xfs_guard guard = xfs_guard_enter();
        xfs_lane_close(ending);
        xfs_guard_leave(guard);
    }
    xfs_own_stack_give_back();
    xfs_thread_leaves();
}

bool xfs_threads_watch(void)
{
    static bool watched;
    if (!watched)
        watched = pthread_key_create(&lane_key, thread_ends) == 0;
    return watched;
}

struct xfs_lane *xfs_thread_attach(struct xfs_recorder *recorder)
{
    if (xfs_self && xfs_self->recorder == recorder)
        return xfs_self;
    uint64_t from_ns = xfs_now_apart_ns(), worked_ns = xfs_thread_ns();
    xfs_self = xfs_lane_open(recorder);
    xfs_own_stack_keep();
    if (xfs_self == NULL) {
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, 1);
        return NULL;
    }
    pthread_setspecific(lane_key, xfs_self);
    xfs_cost_attached(xfs_self, from_ns, worked_ns);
    return xfs_self;
}

XFS_COLD void xfs_record_left(void)
{
    struct xfs_lane *lane = xfs_self;
    xfs_entered = false;
    if (lane && lane->recorder == xfs_recorder_current()) {
        lane->busy = lane->in_stack = lane->place.busy = false;
        xfs_lane_done(lane);
        xfs_call_over(lane);
    }
    xfs_lose(XFT_LOSS_EVENTS, 1);
}

/* ---- events ------------------------------------------------------------------------------- */

static bool refill(struct xfs_lane *lane)
{
    bool first = lane->slab == NULL;
    xfs_cost_unusual(first ? XFT_OVERHEAD_THREAD : XFT_OVERHEAD_SLAB);
    return xfs_lane_refill(lane);
}

/* For a thread's first event, or when its slab is full. */
bool xfs_thread_prepare(void)
{
    struct xfs_recorder *recorder = xfs_recorder_current();
    if (xfs_entered || recorder == NULL ||
        (xfs_self && xfs_self->recorder == recorder && xfs_self->busy))
        return false;
    struct xfs_guard guard = xfs_guard_enter();
    xfs_entered = true;
    struct xfs_lane *lane = xfs_thread_attach(recorder);
    bool room = false;
    if (lane) {
        xfs_lane_claim(lane);
        room = recorder == xfs_recorder_current() && (lane->next < lane->room || refill(lane));
        xfs_lane_done(lane);
    }
    xfs_entered = false;
    xfs_guard_leave(guard);
    return room;
}

XFS_COLD struct xfs_lane *xfs_take_lane_slowly(void)
{
    if (!xfs_thread_prepare()) {
        xfs_lose(XFT_LOSS_EVENTS, 1);
        return NULL;
    }
    xfs_self->busy = true;
    return xfs_self;
}

/* Recording has ended meanwhile, or a signal handler forked and this is the child. */
XFS_COLD void xfs_not_appended(void)
{
    if (xfs_recorder_current() == NULL)
        xfs_lose(XFT_LOSS_EVENTS, 1);
}

void xfs_event_write(const struct xft_event *event)
{
    xfs_event_write_now(event);
}

/* ---- what events refer to ------------------------------------------------------------------ */

/* Work on a stack of the recorder's own: its arguments and result. */
struct capture {
    struct xfs_recorder *recorder;
    struct xfs_registers from;
    struct xfs_reads *reads;
    uint32_t id;
};

static void capture(void *arguments)
{
    struct capture *c = arguments;
    uint64_t addresses[XFS_STACK_FRAMES];
    uint32_t depth = xfs_stacks_take(c->recorder, &c->from, addresses,
                                     c->recorder->settings->stack_depth, c->reads);
    c->id = depth ? xfs_stacks_intern(c->recorder, addresses, depth) : 0;
}

/* On a stack of ours, and remembered where there is a stamp. */
static void capture_in(struct xfs_lane *lane, struct capture *c, uintptr_t called_from)
{
    uint64_t stamp = called_from && !xfs_python_is_on(&c->recorder->stacks.python)
                         ? xfs_remembered_stamp(&lane->remembered)
                         : 0;
    struct xfs_remembered_stack *place =
        stamp ? xfs_remembered_place(&lane->remembered, called_from, c->from.sp) : NULL;
    if (place) {
        place->stamp = 0;
        c->reads = &place->reads;
    }
    if (!xfs_on_own_stack(capture, c))
        xfs_count_lost(c->recorder, XFT_LOSS_STACKS, 1);
    else if (place && c->id)
        xfs_remember(place, &c->from, c->id, stamp);
}

/* A stack that is not remembered, or has changed. */
static XFS_COLD uint32_t capture_anew(struct xfs_lane *lane, const struct xfs_registers *from,
                                      uintptr_t called_from)
{
    struct capture c = {.recorder = xfs_recorder_current(), .from = *from};
    if (c.recorder == NULL || lane == NULL || lane->recorder != c.recorder ||
        !c.recorder->settings->stacks)
        return 0;
    const struct xfs_libraries *libraries =
        atomic_load_explicit(&c.recorder->libraries, memory_order_acquire);
    if (libraries == NULL || c.recorder->stacks.numbers.slots == NULL || lane->in_stack ||
        xfs_entered) {
        xfs_count_lost(c.recorder, XFT_LOSS_STACKS, 1);
        return 0;
    }
    struct xfs_guard guard = xfs_guard_enter();
    lane->in_stack = true;
    capture_in(lane, &c, called_from);
    lane->in_stack = false;
    xfs_guard_leave(guard);
    return c.id;
}

/* A lane of another recorder has stacks of the other's. */
static inline uint32_t remembered(struct xfs_lane *lane, const struct xfs_registers *from,
                                  uintptr_t called_from)
{
    if (lane == NULL || called_from == 0 || !xfs_lane_current(lane))
        return 0;
    return xfs_stack_known(lane, called_from, from->sp, from->fp);
}

static inline uint32_t capture_from(const struct xfs_registers *from, uintptr_t called_from)
{
    struct xfs_lane *lane = xfs_self;
    uint32_t id = remembered(lane, from, called_from);
    return __builtin_expect(id != 0, 1) ? id : capture_anew(lane, from, called_from);
}

uint32_t xfs_stack_capture(uintptr_t called_from)
{
    struct xfs_registers from = xfs_registers_here();
    return capture_from(&from, called_from);
}

XFS_COLD uint32_t xfs_stack_capture_from(const struct xfs_registers *from, uintptr_t called_from)
{
    return capture_from(from, called_from);
}

/* Work that may not be xfs_entered again by a signal handler on top of it, which would wait for
 * locks that this thread holds. */
static bool alone(void (*work)(void *), void *arguments)
{
    struct xfs_guard guard = xfs_guard_enter();
    xfs_entered = true;
    bool done = xfs_on_own_stack(work, arguments);
    xfs_entered = false;
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
    struct place place = {xfs_recorder_current(), instruction + 1,
                          0}; /* return addresses are kept */
    if (place.recorder == NULL || xfs_entered || instruction == 0 ||
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
    struct name name = {xfs_recorder_current(), text, bytes, 0};
    if (name.recorder == NULL || xfs_entered)
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
    struct pointers p = {xfs_recorder_current(), pointers, count, 0};
    if (p.recorder)
        p.id = xfs_arguments_find(p.recorder, pointers, count);
    if (p.recorder && p.id == 0) {
        xfs_cost_unusual(XFT_OVERHEAD_ARGUMENTS);
        if (xfs_entered || !alone(intern_pointers, &p))
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
    struct elsewhere e = {xfs_recorder_current(), work, argument, false};
    return e.recorder && !xfs_entered && alone(do_elsewhere, &e) && e.done;
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
    struct meta meta = {xfs_recorder_current(), key, value};
    if (meta.recorder && !xfs_entered)
        alone(write_meta, &meta);
}
