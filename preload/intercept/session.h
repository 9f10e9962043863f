/*
 * A session: from the first CUDA call that is seen until the process ends or forks. Recording runs,
 * the machine is written down, device timing is prepared.
 *
 * It begins within the first cuInit of the process that succeeds, before that returns; others wait
 * meanwhile, since a context that is made then is what CUPTI does not survive; but not for ever.
 * Where cuInit was not seen it begins at the first call that is. The device's records are switched
 * on later: before the first call that can move data.
 *
 * All functions keep errno.
 */
#ifndef XFS_SESSION_H
#define XFS_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Set in this order (the last three: one of them, or the two around it by turns), and back to the
 * first in a forked child. */
enum xfs_session_state {
    XFS_SESSION_NONE,
    XFS_SESSION_WAITING, /* for the first call that can move data */
    XFS_SESSION_OUTSIDE, /* recording is limited, and this is no period (record/periods.h) */
    XFS_SESSION_ON,
    XFS_SESSION_IN_PERIOD, /* as on, and calls look whether it is over */
};
extern atomic_uchar xfs_session;

static inline bool xfs_moving_begun(void)
{
    return atomic_load_explicit(&xfs_session, memory_order_relaxed) >= XFS_SESSION_ON;
}

/* The driver is the simulated GPU's, and the trace's clock with it. */
extern bool xfs_session_simulated;

/* Before the real call, until device records are on: has them switched on when the call can move
 * data. Rows that are only watched call it themselves. */
void xfs_before_moving(uint16_t call);

/*
 * Around the real cuInit.
 *
 *     turn = xfs_init_begins();
 *     status = real(flags);
 *     xfs_init_ends(turn, status);
 */
enum xfs_init_turn {
    XFS_INIT_NOTHING, /* another's, within another, or there is a session */
    XFS_INIT_FIRST,   /* no context can exist yet */
    XFS_INIT_LATE,    /* somebody has initialised CUDA unseen */
};
enum xfs_init_turn xfs_init_begins(void);
void xfs_init_ends(enum xfs_init_turn turn, int status);

/* The same where cuInit was not seen: at the first call that is. `too_late`: why CUPTI cannot be
 * subscribed to any more; NULL = it can. Any later call does nothing. */
#define XFS_CUDA_IN_USE                                                                            \
    "CUDA was in use before a call of it was seen: too late to attach CUPTI safely"
void xfs_session_start(const char *too_late);

#endif
