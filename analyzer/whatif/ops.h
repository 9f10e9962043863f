/*
 * A process's events as ops (op.h): calls joined with what the device told of them, in order. What
 * each took by itself is found from what was recorded to have come before it.
 *
 * An observer of a walk (pass/pass.h) over one process after the other. Launches and memsets wait
 * in a queue until their records have come, until a later wait of the host says that they must have
 * been done, or until XFW_WINDOW (ops_queue.h) ops wait; copies until they began, since later ones
 * of other streams may have gone before them. So memory is bounded. Private to whatif/.
 *
 * What is found, and how:
 * - device work that began when what came before it was done: how long behind that (space_ns); work
 *   that began on an idle stream: how long behind its submission (latency_ns). Of the one that the
 *   record does not show, what was usual for that engine until then stands in.
 * - a call that returned after what it waits for was done: how long behind that (wake_ns). One that
 *   had nothing to wait for: how long it takes by itself (own_ns).
 * - managed memory that moved on demand to a GPU belongs to the kernel that began there last, what
 *   moved to the host to the thread in whose own time that was (of several: whose call ended last).
 * - engines: pieces of work that overlapped another on the same engine are not exclusive.
 */
#ifndef XFW_OPS_H
#define XFW_OPS_H

#include "analyzer/pass/observer.h"
#include "analyzer/whatif/op.h"

/* Who gets them. process: its ops begin; end: they have all come, the recording ended end_ns behind
 * its beginning. Ops last until the call returns. */
struct xfw_sink {
    void (*process)(void *self, struct xfa_process *process);
    void (*op)(void *self, const struct xfw_op *op);
    void (*end)(void *self, struct xfa_process *process, double end_ns);
    void *self;
};

struct xfw_ops;
struct xfw_ops *xfw_ops_new(const struct xfw_sink *sink);
void xfw_ops_free(struct xfw_ops *ops);
struct xfa_observer xfw_ops_observer(struct xfw_ops *ops);
/* Nobody wants them any more: the sink hears no more than the ends of processes. */
void xfw_ops_stop(struct xfw_ops *ops);

/* The names of the ranges of the process at hand: ids in NAMES (0 = none), by range number. False:
 * there are no more. */
bool xfw_ops_range_name(const struct xfw_ops *ops, uint32_t range, uint64_t *name);

/* It is known that the profile's GPU copies in one direction at a time. */
bool xfw_ops_one_engine(const struct xfp_profile *profile, int gpu);

#endif
