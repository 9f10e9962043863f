/*
 * The work that a way leaves to each resource of a process: what must still happen, however well it
 * is arranged. For the player, which has it note each op that it has scheduled. Private to whatif/.
 *
 * No schedule is shorter than the load of one of its resources, whatever runs beside it (R. L.
 * Graham, Bounds for certain multiprocessing anomalies, Bell System Technical Journal 45 (1966),
 * where the bound is all work by the number of processors, since each can do it; here each piece of
 * work has its own). So the time from a process's first work for a GPU to its last wait is at least
 *
 *   max( of each stream: its kernels, copies, memsets, launched graphs (one after the other);
 *        of each copy engine: its copies, those of graphs too;
 *        of the thread, where one makes all calls: its own time, and what its calls take without
 *        what they wait for )
 *
 * A copy counts without its lead_ns (schedule.h), a kernel without the time in which its faults
 * were served. What the way's changes have left out, made shorter or moved to another stream counts
 * as they have left it. What is as it was recorded is known as well as the run is; what a change
 * has made shorter or longer is a figure of the model.
 *
 * Not counted, as nobody knows how much of it must be: functions of the host that a stream calls,
 * kernels of NCCL that wait for other ranks, messages; a thread's own time where other threads make
 * calls, too (it may wait for them), where something woke it or it polls, and all of it where any
 * change has made any of it shorter: what the host does need not be done by it then.
 *
 * Times are ns.
 */
#ifndef XFW_LEFT_H
#define XFW_LEFT_H

#include "analyzer/whatif/schedule/schedule.h"

struct xfw_left;
struct xfw_left *xfw_left_new(void);
void xfw_left_free(struct xfw_left *left); /* NULL is allowed */

/* The op that the schedule had last, as the changes have left it. recorded: as it was (without what
 * recording cost); NULL: a change inserted it. */
void xfw_left_op(struct xfw_left *left, const struct xfw_op *op, const struct xfw_op *recorded,
                 const struct xfw_schedule *schedule);

/* The largest of them, of what is as recorded the part `as_recorded`, of the rest `changed`. */
double xfw_left_most(const struct xfw_left *left, double as_recorded, double changed);

#endif
