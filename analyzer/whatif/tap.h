/*
 * What a player schedules, for whoever makes it really happen (remeasure/): the ops of one process
 * in their order, as changes have left them, without what recording cost.
 */
#ifndef XFW_TAP_H
#define XFW_TAP_H

#include "analyzer/run/run.h"
#include "analyzer/whatif/schedule.h"

struct xfw_tap {
    void *self;
    void (*process)(void *self, struct xfa_process *process);
    /* The op has just been scheduled. recorded: the same before changes; NULL: one of them made it
     * up. */
    void (*op)(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
               const struct xfw_schedule *schedule);
    /* From the next op on, the stream waits until then for what has been scheduled by now. */
    void (*after)(void *self, uint32_t stream, double ns);
    /* total_ns: of the schedule (xfw_schedule_total()). */
    void (*end)(void *self, struct xfa_process *process, const struct xfw_schedule *schedule,
                double total_ns);
};

#endif
