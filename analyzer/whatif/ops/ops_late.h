/*
 * Work that the driver let in behind calls that began later. Where several threads use the legacy
 * default stream, a call that copies from it waits within the driver until all blocking streams are
 * idle, and others' work comes first meanwhile; launches wait for such calls. The order in which
 * work came to the device is that in which it was let in: such ops wait here until it is their
 * turn. A thread has one at most. Private to ops*.c.
 */
#ifndef XFW_OPS_LATE_H
#define XFW_OPS_LATE_H

#include "analyzer/whatif/ops/ops_queue.h"

#define XFW_LATE_OPS 64

struct xfw_late_ops { /* zeroed at first */
    struct xfw_late_op {
        struct xfw_pending pending;
        double comes_ns;
    } ops[XFW_LATE_OPS];
    unsigned count;
    bool begun, several; /* threads have given the device work */
    bool legacy;         /* some of it was the legacy default stream's */
    uint32_t thread;     /* the first */
};

/* A call has come: all of it need not be known. */
void xfw_late_ops_note(struct xfw_late_ops *late, const struct xfw_op *op);

/* Another thread's work, in order with the default stream's, of the same GPU, began before the
 * op's. */
bool xfw_late_ops_overtakes(const struct xfw_op *other, const struct xfw_op *op);

/* The next op in the order of calls, all of which is known, of a process where several threads use
 * the legacy default stream, which calls that began later overtook:
 * whether it was let in late. It is kept then, as late_in. */
bool xfw_late_ops_keep(struct xfw_late_ops *late, const struct xfw_pending *pending);

/* Of those that are kept the first that comes by then, which is no longer kept: into *pending. */
bool xfw_late_ops_next(struct xfw_late_ops *late, double by_ns, struct xfw_pending *pending);

#endif
