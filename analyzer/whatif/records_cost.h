/*
 * What CUPTI's records add to the program that was recorded, by the profile's records/ scalars.
 * Private to whatif/. Times are ns, 0 where the profile does not know; GPUs are the run's numbers.
 */
#ifndef XFW_RECORDS_COST_H
#define XFW_RECORDS_COST_H

#include "analyzer/pass/achievable.h"
#include "analyzer/whatif/op.h"

/* To an asynchronous call, to one that waits, on the device between two copies. */
struct xfw_records_copy {
    double call, blocking, device;
};
struct xfw_records_cost {
    bool known;
    double launch, launch_device, set, sync, record;
    bool moves_known; /* the next two: of each record of managed memory that moved on demand */
    double demanded, fetched;
    struct xfw_records_copy copies[2]; /* to the device, from it */
};
struct xfw_records_cost xfw_records_cost_of(const struct xfa_achievable *achievable, int gpu);

/* Those of each GPU, looked up when they are first asked for. Zero but for achievable to begin
 * with. */
struct xfw_records_costs {
    const struct xfa_achievable *achievable;
    struct xfw_records_cost of_gpus[XFW_GPUS];
    bool asked[XFW_GPUS];
};

/* Fills in what records of its call and work cost this op. `blocks`: a copy's call that waits;
 * `kernels`: there are records of kernels. */
void xfw_records_costs_add(struct xfw_records_costs *costs, struct xfw_op *op, bool blocks,
                           bool kernels);

/* Likewise, of the managed memory that moved on its demand or was fetched before its call. */
void xfw_records_costs_add_moves(struct xfw_records_costs *costs, struct xfw_op *op);

#endif
