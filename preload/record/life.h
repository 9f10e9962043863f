/*
 * Which recorder of the process is current: what every call looks at, and what a forked child must
 * forget.
 */
#ifndef XFS_LIFE_H
#define XFS_LIFE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

struct xfs_recorder;
struct xfs_lane;
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

/* Whether events are recorded now; starts nothing. */
bool xfs_recording(void);

/* Called once in a process that records and ends by itself, before the end; NULL: nothing is. Set
 * before recording begins. */
extern void (*xfs_before_the_end)(void);

/* Adds n device records to the losses in the file header. */
void xfs_count_device_lost(uint64_t n);

#endif
