/*
 * The own time of a thread behind copies to the host, and before copies to the device: whose work
 * it is (host_turns.c, work_beside.c). Private to changes/.
 *
 * Own time of a thread between a copy to the host and one to the device is both work on what was
 * brought and the making of what is sent, if that has other bytes: no record shows how much of it
 * is which. part: of its own time, the former, as likely as bytes brought are of all bytes brought
 * and sent (a guess). With the user's answer nothing of such time goes at worst, all at best.
 */
#ifndef XFW_OWN_WORK_H
#define XFW_OWN_WORK_H

#include "analyzer/whatif/changes/changes.h"

#define XFW_MOST_FETCHED 8

/* A copy of as much as host-device-turns asks about. */
static inline bool xfw_op_may_be_turn(const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->bytes >= XFW_TURN_BYTES;
}

/* What a thread has fetched by copies that a change is about. */
struct xfw_fetched {
    uint32_t thread; /* key */
    bool under_way;  /* no wait since */
    bool there;      /* the thread's own time is about it */
    bool worked;     /* it was, and was long enough to be work; no kernel since */
    unsigned count;
    uint64_t bytes[XFW_MOST_FETCHED]; /* of each copy since the last kernel, a ring */
};

/* A copy to the host: what its thread waits for next is the copy, and its own time behind that the
 * work on it. */
void xfw_fetched_copy(struct xfw_fetched *fetched, const struct xfw_op *op);

/* A copy to the device of as many bytes as one that was fetched. */
bool xfw_fetched_equals(const struct xfw_fetched *fetched, const struct xfw_op *op);

/* A wait for the copy; right behind one that blocks (frameworks wait behind each), too. */
bool xfw_fetched_awaits(const struct xfw_fetched *fetched, const struct xfw_op *op);

/* How much of the thread's own time before the op, which comes behind such a copy, is work on that.
 * part: of time that is both. */
double xfw_fetched_work_ns(const struct xfw_fetched *fetched, const struct xfw_op *op, double part);

/* The op is a copy to the device of what the host may have made meanwhile. */
bool xfw_fetched_is_mixed(const struct xfw_fetched *fetched, const struct xfw_op *op);

#endif
