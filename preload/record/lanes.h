/*
 * Lanes and slabs: where threads write their events.
 *
 * A lane is one thread's sequence of events; it always has at most one ACTIVE slab. Slabs come from
 * LANES segments, which are appended as needed up to the buffer size; then a thread writes its own
 * full slab to the file and uses it again. FULL slabs wait in a queue for the background thread.
 */
#ifndef XFS_LANES_H
#define XFS_LANES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xferscope/trace.h"

struct xfs_recorder;

struct xfs_slab { /* our view of a slab in the mapping */
    struct xft_slab *shared;
    struct xfs_slab *next;
    struct xfs_lane *lane; /* that writes to it, while it is ACTIVE */
};

/* One thread's lane. In private memory: in a forked child nothing here leads to the parent's file.
 * What every event needs comes first, in one cache line. */
struct xfs_lane {
    struct xfs_recorder *recorder;
    struct xft_event *rows; /* of the current slab */
    uint32_t *committed;    /* the slab's */
    uint32_t next;          /* row to write */
    uint32_t room;          /* rows in the current slab; 0 = no slab */
    bool busy;              /* between begin and commit */
    bool writing;           /* this thread is about to change its slab (xfs_lane_claim) */
    bool in_stack;
    bool stacks; /* are recorded */
    uint32_t id;
    struct xfs_slab *slab;
    pid_t tid;
    uint32_t refused;       /* events in a row that found no room */
    uint64_t next_seq;      /* of the slab's first row */
    struct xft_event event; /* being filled, between begin and commit */
    struct xfs_lane *next_idle;
} __attribute__((aligned(64)));

struct xfs_lanes {
    pthread_mutex_t lock;
    struct xfs_slab *free;
    struct xfs_slab *full, **full_end;
    uint64_t mapped_bytes;
    uint64_t most_bytes;
    uint32_t lane_count;
    struct xfs_lane *idle;  /* of threads that ended */
    struct xfs_lane *fresh; /* rest of the last block of lanes */
    uint32_t fresh_count;
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
 * it. What the thread has to look at in between is whether recording has ended. Two plain stores;
 * the end brings the barrier.
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

/* Recording has ended, and everybody can see it: waits a bounded time for threads other than `own`
 * that are changing their slabs. */
void xfs_lanes_settle(struct xfs_lanes *lanes, const struct xfs_lane *own);

/* Lock held. The oldest full slab, or NULL. */
struct xfs_slab *xfs_lanes_pop_full(struct xfs_lanes *lanes);

/* Lock held. Puts a slab back that could not be written; or gives a written one to the free. */
void xfs_lanes_unpop_full(struct xfs_lanes *lanes, struct xfs_slab *slab);
void xfs_lanes_release(struct xfs_lanes *lanes, struct xfs_slab *slab);

/* Events that lie in slabs now. */
uint64_t xfs_lanes_count(struct xfs_lanes *lanes);

#endif
