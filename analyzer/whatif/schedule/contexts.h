/*
 * Contexts that a process makes within its span (schedule.h), and how much of the span that takes:
 * a thing of the process's start, which is within in one version of a program and not in another.
 * It counts while nothing else goes on: no work is on a GPU, and no call is under way that submits
 * work or waits for it.
 *
 * Of ops in the order of their calls, as recorded or as a schedule has them. Times are ns.
 */
#ifndef XFW_CONTEXTS_H
#define XFW_CONTEXTS_H

#include "analyzer/whatif/op/op.h"
#include "xferscope/trace.h"

struct xfw_contexts {
    double ns;               /* of the span, so far: up to the last work or wait */
    uint64_t gpus;           /* whose contexts these were: xfw_place_of_gpu() */
    double from, to;         /* being made: what is not in ns yet, */
    double before_ns;        /* and of those before it */
    uint64_t making, before; /* whose */
    double busy_until;
    bool worked; /* the span has begun */
};

static inline bool xfw_op_makes_context(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_CONTEXT;
}

/* How long it was made, as recorded. One that its thread's last call has made is an op behind that
 * call, which takes no time of its own. */
static inline double xfw_op_context_ns(const struct xfw_op *op)
{
    return xfw_max(0, op->end_ns - op->start_ns);
}

/* op makes a context, which was there at `to`. */
void xfw_contexts_make(struct xfw_contexts *contexts, const struct xfw_op *op, double to);
/* A call submits work or waits, and that is over at `to`, its work on a GPU, too. */
void xfw_contexts_work(struct xfw_contexts *contexts, double from, double to);

#endif
