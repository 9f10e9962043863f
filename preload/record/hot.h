/*
 * The part of recording that every call passes, to be compiled into the hooks: between two calls
 * of a driver that fills the caches, what counts is how many lines of code and data are touched.
 *
 * What cannot be decided here is left to the slow paths, in events.c and record.c.
 */
#ifndef XFS_HOT_H
#define XFS_HOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "preload/base/attributes.h"
#include "preload/record/cost.h"
#include "preload/record/lanes.h"
#include "preload/record/record.h"

struct xfs_recorder;
struct xfs_bus_regions;

/*
 * What a forked child must forget lies in one page that the kernel wipes there: a child for which
 * no pthread_atfork handler runs (a bare clone) finds state 0, no recorder and a free lock.
 */
struct xfs_life {
    struct xfs_recorder *_Atomic current; /* that events go to now */
    struct xfs_recorder *_Atomic begins;  /* that calls begin in: none any more when it ends */
    struct xfs_recorder *_Atomic closed;  /* that counts what comes after the end */
    atomic_int state;
    struct xfs_bus_regions *_Atomic mapped; /* of the file (bus.c) */
    pthread_mutex_t lock;                   /* zero is PTHREAD_MUTEX_INITIALIZER */
};

/* In `begins`: calls are held back (hold.h). */
extern char xfs_held;
#define XFS_HELD ((struct xfs_recorder *)(void *)&xfs_held)

/* This thread holds them back: its own calls are not recorded. */
extern XFS_TLS bool xfs_holding;

extern struct xfs_life *_Atomic xfs_life; /* NULL until recording begins; then for ever */
extern XFS_TLS struct xfs_lane *xfs_self; /* the thread's lane: only once there is a life */

/* Slow paths. */
bool xfs_record_ready_slowly(void);
bool xfs_call_ready_slowly(void);
/* Begins something that is not a call, or part of one; xfs_call_over() ends it too. */
bool xfs_aside_begins(void);
struct xfs_lane *xfs_take_lane_slowly(void);
void xfs_not_appended(void);

/* The lane belongs to the current recorder. */
static inline bool xfs_lane_current(const struct xfs_lane *lane)
{
    struct xfs_life *life = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return lane->recorder == atomic_load_explicit(&life->current, memory_order_acquire);
}

/* The same for a call that begins. */
static inline bool xfs_lane_open_to_calls(const struct xfs_lane *lane)
{
    struct xfs_life *life = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return lane->recorder == atomic_load_explicit(&life->begins, memory_order_acquire);
}

/* A call of this thread begins; one in XFS_COST_EVERY is timed as a whole (cost.h). Returns the
 * lane, so that the caller need not save a register for it. */
static inline struct xfs_lane *xfs_count_call(struct xfs_lane *lane)
{
    return __builtin_expect(--lane->until_timed == 0, 0) ? xfs_cost_begins(lane) : lane;
}

/* The call is timed: xfs_cost_ends() follows once its event has been written. */
static inline bool xfs_call_is_timed(const struct xfs_lane *lane)
{
    return __builtin_expect(lane->until_timed == XFS_COST_TIMED, 0);
}

/* xfs_record_ready() as a call begins. Prefetches the lane's next row, which is written when the
 * call returns. */
static inline bool xfs_call_ready_now(void)
{
    struct xfs_lane *lane = xfs_self;
    if (__builtin_expect(lane == NULL, 0))
        return xfs_call_ready_slowly();
    lane = xfs_count_call(lane);
    __atomic_store_n(&lane->calling, true,
                     __ATOMIC_RELAXED); /* before the check: the end waits for it */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(!xfs_lane_open_to_calls(lane), 0))
        return xfs_call_ready_slowly();
    const char *row = (const char *)&lane->rows[lane->next];
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + sizeof(struct xft_event) - 1, 1);
    return true;
}

/* The call is over, and its events have been written. */
static inline void xfs_call_over(struct xfs_lane *lane)
{
    __atomic_store_n(&lane->calling, false, __ATOMIC_RELEASE);
}

/* This thread's lane with room for an event, marked busy; NULL when there is none, and the loss has
 * been counted. */
static inline struct xfs_lane *xfs_take_lane(void)
{
    struct xfs_lane *lane = xfs_self;
    if (__builtin_expect(
            lane == NULL || lane->busy || lane->next >= lane->room || !xfs_lane_current(lane), 0))
        return xfs_take_lane_slowly();
    lane->busy = true;
    return lane;
}

/* The event goes to the mapping only here, and only while it is this process's: a handler that
 * forked between begin and commit must not make the child write to the parent's file. */
static inline void xfs_lane_append(struct xfs_lane *lane, const struct xft_event *event)
{
    xfs_lane_claim(lane);
    bool current = xfs_lane_current(lane);
    if (__builtin_expect(current, 1)) {
        lane->rows[lane->next] = *event;
        lane->next++;
        __atomic_store_n(lane->committed, lane->next, __ATOMIC_RELEASE);
    }
    xfs_lane_done(lane);
    if (__builtin_expect(!current, 0))
        xfs_not_appended();
    lane->busy = false;
}

/*
 * For a short event that is filled in where it will lie: the thread's lane, whose next row is
 * zeroed and may be filled, or NULL (the loss has been counted). Between open and close the caller
 * only stores to that row. It does not look up the lane again: a signal handler may have forked in
 * between, and the child has none.
 */
static inline struct xfs_lane *xfs_row_open(void)
{
    typedef long long vector __attribute__((vector_size(16), may_alias, aligned(8)));
    struct xfs_lane *lane = xfs_take_lane();
    if (lane == NULL)
        return NULL;
    xfs_lane_claim(lane);
    if (__builtin_expect(!xfs_lane_current(lane), 0)) {
        xfs_lane_done(lane);
        xfs_not_appended();
        lane->busy = false;
        return NULL;
    }
    vector *parts = (vector *)&lane->rows[lane->next];
    for (size_t i = 0; i < sizeof(struct xft_event) / sizeof *parts; i++)
        parts[i] = (vector){0};
    return lane;
}

static inline void xfs_row_close(struct xfs_lane *lane)
{
    lane->next++;
    __atomic_store_n(lane->committed, lane->next, __ATOMIC_RELEASE);
    xfs_lane_done(lane);
    lane->busy = false;
}

/* As xfs_event_write(). The lane that has the event; NULL: none, which was counted. */
static inline struct xfs_lane *xfs_event_write_now(const struct xft_event *event)
{
    struct xfs_lane *lane = xfs_take_lane();
    if (lane)
        xfs_lane_append(lane, event);
    return lane;
}

/* Stacks are recorded, as far as this thread knows. */
static inline bool xfs_stacks_wanted(void)
{
    return xfs_self == NULL || xfs_self->stacks;
}

#endif
