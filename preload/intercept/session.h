/*
 * A session lasts from the first CUDA call that is seen until the process ends or forks. It starts
 * recording, writes META about the machine, and prepares device timing.
 *
 * It begins inside the first cuInit that succeeds, before that returns. Other threads' cuInit waits
 * meanwhile, for a bounded time, since CUPTI crashes where a context is made then. Where cuInit was
 * not seen, it begins at the first call that is. Device records are switched on later: before the
 * first call that can move data, or once memory was freed and allocated again several times.
 *
 * All functions keep errno.
 */
#ifndef XFS_SESSION_H
#define XFS_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

/* Set in this order: from WAITING or LAUNCHED to ON, or, where recording is limited, to OUTSIDE and
 * IN_PERIOD in turn; in a forked child back to NONE. */
enum xfs_session_state {
    XFS_SESSION_NONE,
    XFS_SESSION_WAITING,  /* for the first call that can move data */
    XFS_SESSION_LAUNCHED, /* for the same; a kernel was launched, and has its event */
    XFS_SESSION_OUTSIDE,  /* recording is limited, and this is no period (record/periods.h) */
    XFS_SESSION_ON,
    XFS_SESSION_IN_PERIOD, /* as ON, and calls check whether the period is over */
};
extern atomic_uchar xfs_session;

static inline bool xfs_moving_begun(void)
{
    return atomic_load_explicit(&xfs_session, memory_order_relaxed) >= XFS_SESSION_ON;
}

/* A launch, when xfs_moving_begun() is false: the process's first one is recorded all the same,
 * since its work for a GPU begins there. `call`: any step; true once. */
XFS_COLD bool xfs_session_takes_launch(uint16_t call, uintptr_t called_at);
static inline bool xfs_session_awaits_launch(void)
{
    return atomic_load_explicit(&xfs_session, memory_order_relaxed) == XFS_SESSION_WAITING;
}

/* The driver and the trace's clock are those of the simulated GPU. */
extern bool xfs_session_simulated;

/* Before the real call, until device records are on: switches them on when the call can move data.
 * Wrappers of XFS_WATCH call it themselves. */
void xfs_before_moving(uint16_t call);
/* The same before what moves data without being a row of CUDA's calls. */
void xfs_before_moving_data(void);
/* Until then, of each call that allocates memory or frees it: a program that does both again and
 * again is recorded as one that moves data, from its next call on. */
void xfs_before_moving_memory(bool frees);

/*
 * Around the real cuInit.
 *
 *     turn = xfs_init_begins();
 *     status = real(flags);
 *     xfs_init_ends(turn, status);
 */
enum xfs_init_turn {
    XFS_INIT_NOTHING, /* another thread's, nested, or there is a session */
    XFS_INIT_FIRST,   /* no context can exist yet */
    XFS_INIT_LATE,    /* CUDA was initialised unseen */
};
enum xfs_init_turn xfs_init_begins(void);
void xfs_init_ends(enum xfs_init_turn turn, int status);

/* The same where cuInit was not seen: at the first call that is. `too_late`: why CUPTI cannot be
 * subscribed to any more; NULL = it can. Any later call does nothing. */
#define XFS_CUDA_IN_USE                                                                            \
    "CUDA was in use before a call of it was seen: too late to attach CUPTI safely"
void xfs_session_start(const char *too_late);

#endif
