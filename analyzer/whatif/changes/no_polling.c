#include "analyzer/whatif/changes/no_polling.h"

#include "analyzer/whatif/op/polled.h"
#include "analyzer/whatif/changes/costs.h"

/* A thread that blocks until it is woken, where the profile has no such figure: a guess of the
 * most. */
#define BLOCKED_WAKE_NS 20000.0

struct no_polling {
    struct xfw_change change;
    bool at_best; /* only then */
};

struct state {
    struct xfw_asked asked;
};

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct no_polling *no_polling = (const void *)change;
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->what != XFW_QUERY || !(op->polled_ns > 0 || op->at_once) ||
        op->awaits == XFW_AWAITS_NOTHING || op->site == XFW_NONE ||
        !xfw_set_has(&change->set, op->site) ||
        (no_polling->at_best && certainty != XFW_HIGH && !change->assured))
        return;
    double wake = xfw_asked_around(&state->asked, achievable, XFT_DIR_D2H, op->gpu, XFW_WAKE_NS);
    if (certainty == XFW_LOW)
        wake = xfw_max(wake, BLOCKED_WAKE_NS);
    op->what = XFW_CALL;
    op->wake_ns = op->at_once ? wake : xfw_min(wake, op->wake_ns);
    op->own_ns =
        xfw_min(op->own_ns, op->awaits == XFW_AWAITS_STREAM
                                ? xfw_asked_scalar(&state->asked, achievable, "sync/stream",
                                                   op->gpu, XFW_SYNC_STREAM_NS)
                                : xfw_asked_scalar(&state->asked, achievable, "sync/event", op->gpu,
                                                   XFW_SYNC_NS));
    op->polled_ns = 0;
    op->at_once = false;
}

struct xfw_change *xfw_change_no_polling(const struct xfa_analysis *analysis, struct xfw_set *sites,
                                         bool at_best)
{
    static const struct xfw_change_type type = {
        .name = "no polling", .state_bytes = sizeof(struct state), .op = op};
    struct no_polling *made = xfw_change_new(sizeof *made, &type, analysis, sites);
    made->at_best = at_best;
    return &made->change;
}
