#include "analyzer/whatif/changes/changes.h"

/* What is left of the thread's time before a call that it made behind another thread's turn: at
 * best it waited for all of that, at worst it came when that was over. */
static double own_ns(const struct xfw_change *change, const struct xfw_player *player,
                     const struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (!(op->behind_ns > 0) || !xfw_op_is_call(op) || certainty == XFW_LOW ||
        (certainty != XFW_HIGH && !change->assured))
        return op->gap_ns;
    double own = certainty == XFW_HIGH ? (double)op->behind_ns : (double)op->likely_ns;
    return xfw_min(op->gap_ns, own);
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    double own = own_ns(change, player, op);
    (void)self;
    return own < op->gap_ns ? xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) + own
                            : begins;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    double own = own_ns(change, player, op);
    (void)self;
    if (!(own < op->gap_ns))
        return;
    op->gap_ns = own;
    op->woken_by = XFW_NONE;
    op->woken_by_stream = 0;
    op->joins = false;
}

struct xfw_change *xfw_change_no_turns(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {.name = "no turns", .op = op, .begins = begins};
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->least_part = XFW_TURNS_LEAST;
    change->of_span = true;
    change->doubted = true;
    change->from = XFW_HIGH;
    return change;
}
