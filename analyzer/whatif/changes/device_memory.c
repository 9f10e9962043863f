#include "analyzer/whatif/changes/changes.h"

#define LEAST_PART 0.5 /* of the time in which faults were served */

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    (void)change, (void)self;
    if (op->what != XFW_KERNEL || op->demanded.bytes > 0 || !(op->demanded.stalled_ns > 0))
        return;
    double part = xfw_player_certainty(player) == XFW_LOW ? LEAST_PART : 1;
    op->duration_ns = xfw_max(0, op->duration_ns - part * op->demanded.stalled_ns);
    op->link_ns = 0;
    op->demanded = (struct xfw_moved){0};
}

struct xfw_change *xfw_change_device_memory(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {.name = "device memory", .op = op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, NULL);
}
