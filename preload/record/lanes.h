/*
 * Lanes and slabs: where threads write their events.
 *
 * A lane is one thread's sequence of events; it always has at most one ACTIVE slab. Slabs come from
 * LANES segments, which are appended as needed up to the buffer size. FULL slabs wait for the
 * background thread, which also keeps ready what threads will need next: free slabs, lanes. So that
 * no thread of the program calls the kernel, they take and give without locks; one that finds no
 * free slab waits for the background thread, awake and for a bounded time.
 *
 * Where there can be no background thread, threads do its work themselves.
 */
#ifndef XFS_LANES_H
#define XFS_LANES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "preload/record/life.h"
#include "preload/record/remembered.h"
#include "preload/record/rooms.h"
#include "preload/base/pool.h"
#include "xferscope/trace.h"

struct xfs_recorder;

struct xfs_slab { /* our view of a slab in the mapping */
    struct xfs_pool_node node;
    struct xft_slab *shared;
    struct xfs_lane *lane; /* that writes to it, while it is ACTIVE */
    bool left;             /* the file was cut since it was made: not used again */
} __attribute__((aligned(16)));

/* Queries of one thread for one piece of work, which was not done so far. */
struct xfs_poll {
    uint64_t of;        /* the event, the stream */
    uint64_t at;        /* sequence number of the lane's next event: another one ends it */
    uint64_t first_ns;  /* when the first of these queries was made, */
    uint64_t last_ns;   /* and the last one */
    uint64_t worked_ns; /* the thread's processor time at the first one; 0: not known */
    uint32_t queries;   /* 0: there were none */
    uint16_t call;
    bool slept; /* at the end of the thread's last polled wait, this long or longer: */
};
#define XFS_POLL_SLEPT_NS 5000u

/* One thread's lane. In private memory: in a forked child nothing here leads to the parent's file.
 * What every event needs comes first, in one cache line. */
struct xfs_lane {
    struct xfs_recorder *recorder;
    struct xft_event *rows; /* of the current slab */
    uint32_t *committed;    /* the slab's */
    uint32_t next;          /* row to write */
    uint32_t room;          /* rows in the current slab; 0 = no slab */
    uint32_t until_timed;   /* calls, until one is timed whole (cost.h) */
    bool busy;              /* its thread writes an event */
    bool writing;           /* this thread is about to change its slab (xfs_lane_claim) */
    bool in_stack;
    bool stacks;  /* are recorded */
    bool calling; /* from the start of a call until it is recorded */
    uint32_t id;
    struct xfs_slab *slab;
    pid_t tid;
    uint32_t refused;  /* events in a row that found no room */
    uint64_t next_seq; /* of the slab's first row */
    uint64_t attached_from_ns,
        attached_until_ns; /* to be written with the next event; 0: nothing */
    uint64_t worked_ns;    /* with it: the thread's processor time until then; 0: not known */
    uint32_t counted;      /* until_timed, while a call is timed only for what is unusual in it */
    uint16_t unusual;      /* sum of enum xft_overhead: so far in the call that is timed */
    struct xfs_poll poll;
    struct xfs_pool_node node
        __attribute__((aligned(16))); /* from here on kept for the next thread */
    struct xfs_room_place place;
    uint64_t timed_from_ns; /* that call */
    uint8_t timed;          /* calls so far, the first few */
    struct xfs_remembered remembered;
} __attribute__((aligned(64)));

struct xfs_lanes {
    struct xfs_pool free, full; /* slabs */
    struct xfs_pool idle;       /* lanes: of threads that ended, and for threads to come */
    atomic_uint waiting;        /* threads that want a slab */
    atomic_uint taken;          /* slabs, so far */
    atomic_uint lane_count;
    atomic_bool stuck; /* the file takes no more: waiting does not help */

    pthread_mutex_t lock; /* of what follows */
    uint64_t mapped_bytes;
    uint64_t most_bytes;
    unsigned taken_before;
    uint64_t grow_again_ns;
    int grow_error;           /* errno of the last attempt */
    struct xfs_slab *all[64]; /* arrays of slabs, one per LANES segment */
    size_t all_count[64];
    size_t segments;
};

/* False when not even the first slabs could be had. */
bool xfs_lanes_init(struct xfs_recorder *recorder);

/* A lane for the calling thread; NULL when memory is short. */
struct xfs_lane *xfs_lane_open(struct xfs_recorder *recorder);

/* Hands its slab over and keeps the lane for the next thread. */
void xfs_lane_close(struct xfs_lane *lane);

/* Gets room for the next event: false when there is none (the caller counts the loss). */
bool xfs_lane_refill(struct xfs_lane *lane);

/*
 * Before a thread changes its slab: from here to xfs_lane_done() the end of recording waits for
 * it. In between the thread checks whether recording has ended. Two plain stores; the end brings
 * the memory barrier.
 */
static inline void xfs_lane_claim(struct xfs_lane *lane)
{
    __atomic_store_n(&lane->writing, true, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
static inline void xfs_lane_done(struct xfs_lane *lane)
{
    __atomic_store_n(&lane->writing, false, __ATOMIC_RELEASE);
}

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

/* The call is over, and its events have been written. */
static inline void xfs_call_over(struct xfs_lane *lane)
{
    __atomic_store_n(&lane->calling, false, __ATOMIC_RELEASE);
}

/* After a moment: whether threads other than the one that ends recording are still in a call; no
 * new call begins. False also when a bounded time is over; *rounds is 0 at first. */
bool xfs_lanes_await_calls(struct xfs_recorder *recorder, int *rounds);

/* A recorded call of some thread is under way. */
bool xfs_lanes_are_calling(struct xfs_lanes *lanes);

/* Recording has ended for all threads: waits a bounded time for threads other than `own` that are
 * changing their slabs. */
void xfs_lanes_await_writers(struct xfs_lanes *lanes, const struct xfs_lane *own);

/* The background thread keeps ready what threads may need until the next time: several times what
 * they took since the last time, within the buffer size. False when a thread waits for a slab that
 * cannot be made. */
bool xfs_lanes_supply(struct xfs_recorder *recorder);

/* Writes what is full, oldest first; false when the file did not take all of it. *wrote: whether
 * there was any. */
bool xfs_lanes_write_full(struct xfs_recorder *recorder, bool *wrote);

/* True when the end of a LANES segment is gone: the file was cut, and may have grown again since.
 */
bool xfs_lanes_are_torn(struct xfs_lanes *lanes);

/* The file was cut: its slabs are used no more, and threads leave them with their next event. */
void xfs_lanes_leave(struct xfs_lanes *lanes);

/* When recording has ended: writes what slabs still hold, also those that the file has. */
void xfs_lanes_write_all(struct xfs_recorder *recorder);

/* Events that lie in slabs now. */
uint64_t xfs_lanes_count(struct xfs_lanes *lanes);

#endif
