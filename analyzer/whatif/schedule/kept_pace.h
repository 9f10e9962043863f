/*
 * How a thread that is played keeps the pace of others of its program that make no calls (paces.h):
 * it sleeps until they have something for it (op.h, paced), or would if it came sooner (held).
 * Private to whatif/.
 *
 * It wakes as long behind its first such sleep as was recorded, but not before it has done what it
 * does itself. And it makes no call of its own accord before they have worked, behind its first
 * one, as long as they had as recorded, the busiest of them at least: so no later than recorded.
 * What they rest they are ahead by, while the thread is, or has become so of late: who rests has
 * nothing to do until it comes for more.
 *
 * Times are ns, on the schedule's clock or as recorded.
 */
#ifndef XFW_KEPT_PACE_H
#define XFW_KEPT_PACE_H

#include "analyzer/whatif/op/op.h"

struct xfw_kept_pace {   /* of a thread; zero to begin with, and behind a cut */
    bool paced;          /* it has slept at the pace of others: */
    double paced_ns;     /* how much later than recorded they are at least */
    double woke_ns;      /* the end of the last such sleep, as recorded */
    double woke_made_ns; /* what they had worked by then */
    bool held;           /* it has made a call: */
    double held_ns;      /* how much behind their work it is at the earliest */
    double marked_ns;    /* a while ago, as recorded, */
    double ahead_ns;     /* they were earlier than recorded by so much at most */
};

static inline bool xfw_is_held(const struct xfw_op *op, unsigned certainty)
{
    return op->held >> certainty & 1;
}

/* When the op begins that comes behind sleep, a part of its gap. now, recorded: the end of the
 * thread's last call, as played and as recorded. */
double xfw_begins_paced(const struct xfw_kept_pace *pace, const struct xfw_op *op,
                        unsigned certainty, double now, double recorded);

/* The same of one that is held, and nobody wakes, which would begin at `usual`. */
double xfw_begins_held(const struct xfw_kept_pace *pace, const struct xfw_op *op,
                       unsigned certainty, double usual);

/* The call begins: of one that is paced; of one that is held. */
void xfw_note_paced(struct xfw_kept_pace *pace, const struct xfw_op *op, unsigned certainty,
                    double call);
void xfw_note_held(struct xfw_kept_pace *pace, const struct xfw_op *op, unsigned certainty,
                   double call);

#endif
