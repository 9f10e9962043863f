/*
 * What the parts that look at memory have in common (budget.c, access.c, verify.c): a share of the
 * time, one thread at a time, numbers in META. Private to content/.
 */
#ifndef XFS_SHARE_H
#define XFS_SHARE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "preload/base/guard.h"
#include "preload/record/record.h"

/* The machine's: under the simulated GPU the trace's clock does not advance while we work. */
static inline uint64_t xfs_machine_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct xfs_share {
    uint64_t free_ns; /* what may be spent in any case: short programs are asked as well */
    uint64_t started_ns, spent_ns;
    unsigned percent; /* of the time since the start; 0: all */
};

static inline bool xfs_share_left(const struct xfs_share *share)
{
    uint64_t elapsed = xfs_machine_ns() - share->started_ns;
    return share->percent == 0 || share->spent_ns < share->free_ns + elapsed / 100 * share->percent;
}

/* One thread at a time. *holding is the calling thread's own: a signal handler must not wait for
 * its own thread. False: not now. */
static inline bool xfs_turn_begin(pthread_mutex_t *lock, bool *holding, struct xfs_guard *guard)
{
    if (*holding || !xfs_recording())
        return false;
    *guard = xfs_guard_enter();
    *holding = true;
    pthread_mutex_lock(lock);
    return true;
}

static inline void xfs_turn_end(pthread_mutex_t *lock, bool *holding, struct xfs_guard guard)
{
    pthread_mutex_unlock(lock);
    *holding = false;
    xfs_guard_leave(guard);
}

static inline void xfs_note_number(const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    xfs_meta_set(key, text);
}

#endif
