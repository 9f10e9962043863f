/*
 * Whose time it was: each moment of a GPU's time in a process is one of six, so that they add up
 * to the process's time. In this order: what stalls a kernel is exposed; a transfer beside a
 * kernel of the same GPU is hidden, without one exposed; a kernel is compute; when the GPU had
 * nothing to do, but had had work before, a thread that waits makes it a wait, one that launches a
 * kernel (on any GPU) a launch; else it is the host's.
 *
 * One process after the other, its spans in the order of start. Stretches that are exposed, and
 * those in which no GPU did anything and no thread waited, go to tracks. Private to timeline/.
 */
#ifndef XFA_TIMELINE_SHARES_H
#define XFA_TIMELINE_SHARES_H

#include "analyzer/base/exact.h"
#include "analyzer/base/team.h"
#include "analyzer/timeline/order.h"

enum xfa_share {
    XFA_SHARE_COMPUTE,
    XFA_SHARE_HIDDEN,
    XFA_SHARE_EXPOSED,
    XFA_SHARE_WAITS,
    XFA_SHARE_LAUNCHES,
    XFA_SHARE_HOST,
    XFA_SHARES
};

#define XFA_SHARE_GPUS 64 /* further ones count as the last */

struct xfa_gpu_time {
    bool used;
    bool has_worked;
    uint64_t at;                    /* so far it is known whose time it was */
    uint64_t until[XFA_ACTIVITIES]; /* as far as is known there is such an activity */
    uint64_t shares[XFA_SHARES];
    uint64_t began, ended; /* the stretch for a track; ended 0: none */
};

struct xfa_shares {
    struct xfa_tracks *tracks;       /* NULL: nothing is drawn */
    struct xfa_phase_shares *phases; /* NULL: there are none */
    uint32_t process;
    /* One for each GPU; behind them one that no GPU's work reaches, and one that all does. */
    struct xfa_gpu_time times[XFA_SHARE_GPUS + 2];
    /* Of all processes so far that used a GPU, for each GPU that it used. */
    struct xfa_exact sums[XFA_SHARES], duration;
    uint64_t pairs;
};

void xfa_shares_begin(struct xfa_shares *shares, uint32_t process);
void xfa_shares_add(struct xfa_shares *shares, const struct xfa_span *span);
void xfa_shares_end(struct xfa_shares *shares, uint64_t end);

/* To another member of a team, and from one, added. */
void xfa_shares_give(const struct xfa_shares *shares, struct xfa_parcel *parcel);
void xfa_shares_take(struct xfa_shares *shares, struct xfa_unpacking *from);

/* Of a run that took wall_ns: the mean over GPUs; what a process was not there for is the host's.
 * They add up to wall_ns. */
void xfa_shares_of_run(const struct xfa_shares *shares, double wall_ns, double of[XFA_SHARES]);

#endif
