/*
 * Where threads begin: beside which call of another thread, so that they begin earlier when that
 * does. Private to whatif/.
 *
 * A thread begins where another one was then: behind that one's last call, or, while that was still
 * under way, so long after it had begun; of threads that begin at once none waits for another.
 * What the recorder did in a thread before its call, such as waiting until it was ready itself, is
 * no time of the thread's: it had come to the call before that.
 */
#ifndef XFW_BEGINNINGS_H
#define XFW_BEGINNINGS_H

#include "analyzer/whatif/op.h"

#define XFW_RECENT 64 /* calls that are remembered */

struct xfw_beginnings { /* zero: none was made */
    struct xfw_recent {
        double came, start, end; /* came: when it would have begun but for the recorder */
        double added;            /* behind it, by recording */
        uint32_t thread;
    } recent[XFW_RECENT]; /* a ring */
    uint64_t calls;
};

/* The first op of a thread: fills in `first`, or by which other thread's call it begins, and what
 * the recorder has added to that. */
void xfw_begin_thread(const struct xfw_beginnings *beginnings, struct xfw_op *op);

/* An op was made, in the order of calls; `held_ns` before it the recorder was at work, `added_ns`
 * behind it. */
void xfw_note_call(struct xfw_beginnings *beginnings, const struct xfw_op *op, double held_ns,
                   double added_ns);

#endif
