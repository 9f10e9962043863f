/*
 * A process's events as ops (op.h), in the order of calls: each call is joined with the device's
 * records of it, and its times are found from what was recorded to have come before it.
 *
 * An observer of a pass (pass/pass.h), one process after the other: of those that another member of
 * the team has (base/team.h) it makes none, and its sink does not hear of them. Memory is bounded:
 * launches and memsets wait in a queue (ops_queue.h) until their records have come, a later wait of
 * the host shows that they were done, or XFW_WINDOW ops wait; copies until they began, since later
 * ones of other streams may have run before them. Private to whatif/.
 *
 * How times are found (recorded.c):
 *
 * - space_ns: of device work that began when what came before it was done, how long after that.
 * - latency_ns: of device work that began on an idle stream, how long after its call. Of the two
 *   the one that the trace does not show is taken from the engine's work before.
 * - wake_ns: of a call that returned after what it waits for was done, how long after that.
 * - own_ns: of a call that had nothing to wait for, all of it.
 * - Managed memory that moved on demand to a GPU is charged to the kernel that ran there and was
 *   given it, else to the one that began last;
 *   what moved to the host to the thread in whose own time that was (of several: whose call ended
 *   last).
 * - Work that overlapped other work of its engine is not exclusive.
 */
#ifndef XFW_OPS_H
#define XFW_OPS_H

#include "analyzer/pass/observer.h"
#include "analyzer/whatif/op/op.h"

/* Receives them. process: its ops begin. op: valid until the function returns. end: all have come;
 * end_ns: from the start of the recording to its end. */
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
/* Before the pass: calls of MPI become ops, too (ops_messages.h), of processes that a launcher
 * started as one of several. */
void xfw_ops_take_messages(struct xfw_ops *ops);
/* All of the process at hand has come: its threads that keep others' pace become known
 * (paces.h). */
void xfw_ops_decide_paces(struct xfw_ops *ops);
/* Nobody wants them any more: the sink hears no more than the ends of processes. Paces become known
 * all the same. */
void xfw_ops_stop(struct xfw_ops *ops);

/* The names of the ranges of the process at hand: ids in NAMES (0 = none), by range number. False:
 * there are no more. */
bool xfw_ops_range_name(const struct xfw_ops *ops, uint32_t range, uint64_t *name);

/* It is known that the profile's GPU copies in one direction at a time. */
bool xfw_ops_one_engine(const struct xfp_profile *profile, int gpu);

#endif
