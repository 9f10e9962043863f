#include "analyzer/whatif/changes/stay.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/prefetch.h"
#include "analyzer/whatif/changes/mapping.h"

#define AT_WORST 0.5

struct stay {
    struct xfw_change change;
};

struct state {
    uint64_t stayed; /* bytes that did not move to kernels, and need not come back */
};

/* A kernel that reaches over the link takes so long at least; NAN: not measured. */
static double over_link_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                           double touched, enum xfw_certainty certainty)
{
    double most = AT_WORST * (double)op->demanded.bytes;
    if (certainty != XFW_LOW)
        return xfw_mapped_ns(achievable, op->gpu, false, certainty == XFW_LIKELY ? touched : 0);
    return xfw_mapped_ns(achievable, op->gpu, false, most) +
           xfw_mapped_ns(achievable, op->gpu, true, most);
}

static void kernel(const struct xfw_change *change, struct state *state, struct xfw_player *player,
                   struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    double own = fmax(0, op->duration_ns - op->demanded.stalled_ns);
    double share = own / (xfw_device_byte_ns(achievable, op->gpu) * (double)op->demanded.bytes);
    double over_link = over_link_ns(achievable, op, share * (double)op->demanded.bytes,
                                    xfw_player_certainty(player));
    if (!(share < XFW_READ_IN_PART) || !(over_link > 0))
        return;
    op->duration_ns = fmin(op->duration_ns, fmax(own, over_link));
    state->stayed += op->demanded.bytes;
    op->demanded = (struct xfw_moved){0};
}

static void host(const struct xfw_change *change, struct state *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    uint64_t stayed = op->fetched.bytes < state->stayed ? op->fetched.bytes : state->stayed;
    double part = (double)stayed / (double)op->fetched.bytes;
    op->gap_ns -=
        part * xfw_fetched_ns(&change->analysis->achievable, op, xfw_player_certainty(player));
    state->stayed -= stayed;
    if (stayed == op->fetched.bytes)
        op->fetched = (struct xfw_moved){0};
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    if ((op->fetched.bytes || op->demanded.bytes) && xfw_moves_unsure(change, player))
        return;
    if (op->fetched.bytes)
        host(change, self, player, op);
    if (op->demanded.bytes && op->what == XFW_KERNEL)
        kernel(change, self, player, op);
}

struct xfw_change *xfw_change_stay(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "stay", .state_bytes = sizeof(struct state), .op = op};
    struct stay *stay = xfa_alloc(sizeof *stay);
    stay->change.type = &type;
    stay->change.analysis = analysis;
    return &stay->change;
}
