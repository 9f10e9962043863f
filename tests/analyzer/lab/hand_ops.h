/*
 * Ops made by hand, for tests of changes: one process, thread 0, streams of GPU 0. Times are ns;
 * what is not said is 0. A call begins where the one before it ended.
 */
#ifndef HAND_OPS_H
#define HAND_OPS_H

#include <math.h>
#include <stddef.h>

#include "analyzer/pass/achievable.h"
#include "analyzer/pass/profile_tables.h"
#include "analyzer/whatif/player.h"
#include "xferscope/trace.h"

static inline struct xfw_op hand_op(enum xfw_what what, enum xft_event_kind kind, double own)
{
    struct xfw_op op = xfw_op_none();
    op.what = (uint8_t)what;
    op.kind = (uint8_t)kind;
    op.own_ns = own;
    op.stream_kind = XFW_NONBLOCKING;
    return op;
}

/* Work of a stream: submitted in `own`, begins `latency` behind the call, or at once behind what
 * came before it. */
static inline struct xfw_op hand_work(enum xfw_what what, uint32_t stream, double own,
                                      double latency, double duration)
{
    struct xfw_op op = hand_op(what, what == XFW_COPY ? XFT_EVENT_TRANSFER : XFT_EVENT_LAUNCH, own);
    op.stream = stream;
    op.engine = what == XFW_COPY ? XFW_TO_DEVICE : XFW_COMPUTE;
    op.exclusive = what == XFW_COPY;
    op.latency_ns = latency;
    op.duration_ns = duration;
    return op;
}

/* The host waits for the device. */
static inline struct xfw_op hand_wait(double wake)
{
    struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_SYNC, 0);
    op.awaits = XFW_AWAITS_DEVICE;
    op.wake_ns = wake;
    return op;
}

/* When the thread has done them all, with the change (NULL: none); in a process whose trace says
 * what kernels were given. */
static inline double hand_play_in(struct xfa_process *process, const struct xfw_op *ops,
                                  size_t count, struct xfw_change *change,
                                  enum xfw_certainty certainty)
{
    struct xfw_player *player = xfw_player_new(process, &change, change ? 1 : 0, certainty);
    for (size_t i = 0; i < count; i++)
        xfw_player_op(player, &ops[i]);
    xfw_player_finish(player, NULL);
    double end = xfw_schedule_thread_now(xfw_player_schedule(player), 0);
    xfw_player_free(player);
    return end;
}

static inline double hand_play(const struct xfw_op *ops, size_t count, struct xfw_change *change,
                               enum xfw_certainty certainty)
{
    struct xfa_process process = {.number = 0};
    return hand_play_in(&process, ops, count, change, certainty);
}

/* The profile has got other tables since. */
static inline void tables_anew(struct xfa_achievable *achievable)
{
    xfa_profile_tables_free(achievable->tables);
    achievable->tables = xfa_profile_tables_new(achievable->profile);
}

#endif
