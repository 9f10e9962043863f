/*
 * What each op took by itself, found from when things happened (ops.h says how): between ops.c,
 * which knows when, and what goes on. Private to whatif/.
 */
#ifndef XFW_RECORDED_H
#define XFW_RECORDED_H

#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/ops/engines.h"

struct xfw_recorded;
#define XFW_CALLED_NS 20000.0 /* what host functions take no longer than is not looked for */
/* How long a function that does nothing holds its stream up, of which the driver calls it: the
 * profile's host-function/hold (in the op's reach_ns), else a guess. */
#define XFW_CALLED_AFTER_NS 50000.0
static inline double xfw_called_after(const struct xfw_op *function)
{
    return function->reach_ns > 0 ? function->reach_ns : XFW_CALLED_AFTER_NS;
}

/* Engines serve streams as they become ready: what was submitted later may have been done before.
 * `busy_until`: when the op's engine came free of such work, that ended by the op's beginning; 0:
 * there was none. */
struct xfw_ahead {
    double (*busy_until)(void *self, const struct xfw_op *op);
    /* The first work behind this host function, or kernel without a record, in its stream that
     * waited for it, and began then; or a wait of the host for it, that ended then. NULL: none did,
     * or it is not known. *until: comes as when the stream had come to the function. *done: it was
     * done by then, since the host had waited for it; NAN: not known. */
    const struct xfw_op *(*waiter)(void *self, const struct xfw_op *op, double *until,
                                   double *done);
    void *self;
};

struct xfw_recorded *xfw_recorded_new(void);
void xfw_recorded_free(struct xfw_recorded *recorded);

/*
 * Ops in the order of their calls, each with what is known of it: times as recorded, what it is,
 * thread, stream, event, engine; hook_ns: what recording added to this very call, behind it;
 * records_ns; opening_ns: it puts off the process, and no thread more than others. `blocks`: a
 * copy's call that returns when the data is there, or staged. Fills in the rest. `ahead` is asked
 * at most once, of a host function or a kernel without a record, and of work that began long after
 * what came before it; NULL: nothing is known of later work.
 */
void xfw_recorded_resolve(struct xfw_recorded *recorded, struct xfw_op *op, bool blocks,
                          const struct xfw_ahead *ahead);

#endif
