#include "analyzer/whatif/records_cost.h"

#include <stdio.h>

static double scalar(const struct xfp_profile *profile, const char *what, int gpu, bool *known)
{
    char name[64];
    snprintf(name, sizeof name, "records/%s/gpu%d", what, gpu);
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    *known = *known || scalar;
    return scalar ? scalar->cost.median : 0;
}

static struct xfw_records_copy copy_cost(const struct xfp_profile *profile, const char *direction,
                                         int gpu, bool *known)
{
    char call[32], blocking[32], device[32];
    snprintf(call, sizeof call, "copy/%s", direction);
    snprintf(blocking, sizeof blocking, "copy-blocking/%s", direction);
    snprintf(device, sizeof device, "copy-device/%s", direction);
    return (struct xfw_records_copy){
        .call = scalar(profile, call, gpu, known),
        .blocking = scalar(profile, blocking, gpu, known),
        .device = scalar(profile, device, gpu, known),
    };
}

struct xfw_records_cost xfw_records_cost_of(const struct xfa_achievable *achievable, int gpu)
{
    struct xfw_records_cost cost = {0};
    const struct xfp_profile *profile = achievable->profile;
    if (!profile)
        return cost;
    int number = xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu);
    cost.launch = scalar(profile, "launch", number, &cost.known);
    cost.launch_device = scalar(profile, "launch-device", number, &cost.known);
    cost.copies[0] = copy_cost(profile, "h2d", number, &cost.known);
    cost.copies[1] = copy_cost(profile, "d2h", number, &cost.known);
    cost.set = scalar(profile, "memset", number, &cost.known);
    cost.sync = scalar(profile, "sync/stream", number, &cost.known);
    cost.record = scalar(profile, "event/record", number, &cost.known);
    cost.demanded = scalar(profile, "migration/h2d", number, &cost.moves_known);
    cost.fetched = scalar(profile, "migration/d2h", number, &cost.moves_known);
    return cost;
}

static const struct xfw_records_cost *cost_of(struct xfw_records_costs *costs, int gpu)
{
    size_t i = xfw_place_of_gpu(gpu);
    if (!costs->asked[i]) {
        costs->asked[i] = true;
        costs->of_gpus[i] = xfw_records_cost_of(costs->achievable, gpu);
    }
    return &costs->of_gpus[i];
}

void xfw_records_costs_add(struct xfw_records_costs *costs, struct xfw_op *op, bool blocks,
                           bool kernels)
{
    const struct xfw_records_cost *cost = cost_of(costs, op->gpu);
    if (op->what == XFW_KERNEL && kernels) {
        op->records_ns = cost->launch;
        op->records_device_ns = cost->launch_device;
    } else if (op->what == XFW_COPY) {
        /* In pieces by way of the host: each to the host and from it, the slower one sets the pace.
         */
        bool from_device = op->engine == XFW_TO_HOST || op->last_piece;
        const struct xfw_records_copy *copy = &cost->copies[from_device];
        op->records_ns = blocks ? copy->blocking : copy->call;
        op->records_device_ns = copy->device;
    } else if (op->what == XFW_SET) {
        op->records_ns = cost->set;
    } else if (op->kind == XFT_EVENT_SYNC) {
        op->records_ns = cost->sync;
    } else if (op->what == XFW_RECORD) {
        op->records_ns = cost->record;
    }
}

void xfw_records_costs_add_moves(struct xfw_records_costs *costs, struct xfw_op *op)
{
    struct xfw_moved *demanded = &op->demanded, *fetched = &op->fetched;
    if (demanded->records)
        demanded->records_ns = demanded->records * cost_of(costs, demanded->gpu)->demanded;
    if (fetched->records)
        fetched->records_ns = fetched->records * cost_of(costs, fetched->gpu)->fetched;
}
