#include "analyzer/whatif/changes/async.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/reuse.h"

struct async {
    struct xfw_change change;
    struct xfw_set classes;
};

/* What the device does stays what it was; where that is not known, the profile's figure, or what
 * the call took. */
static void submit(struct xfw_asked *asked, const struct xfa_analysis *analysis, struct xfw_op *op,
                   const struct xfw_host_memory *host)
{
    const struct xfp_path *path =
        xfw_asked_path(asked, &analysis->achievable, host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D,
                       (enum xft_memory)host->memory, host->node, op->gpu);
    struct xfw_copy_cost cost = xfw_asked_cost(asked, path, op->bytes, XFW_LIKELY);
    double submit_ns = cost.known ? cost.submit_ns : XFW_SUBMIT_NS;
    if (!(op->duration_ns > 0))
        op->duration_ns = cost.known ? cost.device_ns : fmax(0, op->own_ns - submit_ns);
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = submit_ns;
    op->wake_ns = 0;
}

static void change_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct async *async = (const struct async *)change;
    struct xfw_reuse *reuse = self;
    struct xfw_host_memory host;
    xfw_reuse_meet(reuse, change, player, op);
    if (op->what != XFW_COPY || op->class == XFW_NONE || !xfw_set_has(&async->classes, op->class) ||
        !xfw_host_memory(change->analysis, op, &host) || !xfw_player_take(player, op) ||
        xfw_player_certainty(player) == XFW_LOW)
        return;
    submit(&reuse->asked, change->analysis, op, &host);
    xfw_reuse_add(reuse, change, player, op, &host);
}

static void release(struct xfw_change *change)
{
    xfw_set_free(&((struct async *)change)->classes);
}

static const struct xfw_change_type type = {
    .name = "async",
    .state_bytes = sizeof(struct xfw_reuse),
    .op = change_op,
    .free = release,
};

struct xfw_change *xfw_change_async(const struct xfa_analysis *analysis, struct xfw_set *classes)
{
    struct async *async = xfa_alloc(sizeof *async);
    async->change =
        (struct xfw_change){.type = &type, .analysis = analysis, .shares = XFW_IN_PARTS};
    async->classes = *classes;
    *classes = (struct xfw_set){0};
    return &async->change;
}
