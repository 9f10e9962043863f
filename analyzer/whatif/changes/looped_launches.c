#include "analyzer/whatif/changes/batch_launches.h"
#include "analyzer/whatif/changes/launch_runs.h"
#include "analyzer/whatif/changes/loops.h"

struct state {
    struct xfw_loops loops;
    struct xfw_merged merged;
};

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (!xfw_change_applies(change, player) || xfw_is_between_launches(op))
        return;
    if (!xfw_can_merge(op) || xfw_ends_launches(op, certainty))
        xfw_loops_break(&state->loops, op->thread);
    if (!xfw_can_merge(op) || op->thread >= XFW_PIECE_THREADS)
        return;
    const struct xfw_piece_launch launch = xfw_piece_launch_of(op);
    const struct xfw_place_in_pieces place = {
        .is = xfw_loops_next(&state->loops, op->thread, &launch)};
    op->duration_ns = xfw_merged_ns(&state->merged, certainty, &place, op);
    if (place.is)
        op->own_ns = op->latency_ns = op->space_ns = op->gap_ns = 0;
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    const struct state *state = self;
    if (!xfw_change_applies(change, player) || !xfw_can_merge(op) ||
        xfw_ends_launches(op, xfw_player_certainty(player)))
        return begins;
    const struct xfw_piece_launch launch = xfw_piece_launch_of(op);
    bool goes_on = xfw_loops_goes_on(&state->loops, op->thread, &launch);
    return goes_on ? xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) : begins;
}

struct xfw_change *xfw_change_looped_launches(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "looped launches", .state_bytes = sizeof(struct state), .op = op, .begins = begins};
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->last = true;
    change->least_part = XFW_RUNS_LEAST;
    change->of_span = true;
    change->doubted = true;
    change->from = XFW_HIGH;
    return change;
}
