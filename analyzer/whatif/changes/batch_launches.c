#include "analyzer/whatif/changes/batch_launches.h"

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/launch_runs.h"

struct state {
    struct xfw_pieces pieces;
    struct xfw_merged merged;
    bool sent[XFW_PIECE_THREADS]; /* the table of the run at hand */
};

/* ---- launches of pieces ---------------------------------------------------------------------- */

bool xfw_can_merge(const struct xfw_op *op)
{
    return op->what == XFW_KERNEL && op->awaits == XFW_AWAITS_NOTHING && !op->meets &&
           op->stream != XFW_NONE && !(op->reach_ns > 0) && !(op->link_ns > 0) &&
           !xfw_has_moved(&op->demanded);
}

struct xfw_piece_launch xfw_piece_launch_of(const struct xfw_op *op)
{
    return (struct xfw_piece_launch){
        .stream = op->stream, .gpu = op->gpu, .name = op->name, .arguments = op->arguments};
}

struct xfw_place_in_pieces xfw_pieces_op(struct xfw_pieces *pieces, const struct xfw_player *player,
                                         const struct xfw_op *op)
{
    struct xfw_place_in_pieces none = {0};
    if (xfw_is_between_launches(op))
        return none;
    if (!xfw_can_merge(op) || xfw_ends_launches(op, xfw_player_certainty(player)))
        xfw_pieces_break(pieces, op->thread);
    if (!xfw_can_merge(op))
        return none;
    const struct xfw_piece_launch launch = xfw_piece_launch_of(op);
    return xfw_pieces_next(pieces, xfw_player_process(player), op->thread, &launch);
}

/* ---- their kernels --------------------------------------------------------------------------- */

static double part_of_gpu(const struct xfw_op *op, enum xfw_certainty certainty)
{
    static const double fill[] = {
        [XFW_LOW] = XFW_LEAST_THREADS, [XFW_LIKELY] = XFW_FILL_LIKELY, [XFW_HIGH] = XFW_FILL_HIGH};
    return op->threads > 0 ? xfw_min(1, (double)op->threads / fill[certainty]) : 1;
}

double xfw_merged_ns(struct xfw_merged *merged, enum xfw_certainty certainty,
                     const struct xfw_place_in_pieces *place, const struct xfw_op *op)
{
    if (op->thread >= XFW_PIECE_THREADS)
        return op->duration_ns;
    struct xfw_merged_kernel *kernel = &merged->of[op->thread][place->which];
    if (!place->is)
        *kernel = (struct xfw_merged_kernel){0};
    kernel->longest_ns = xfw_max(kernel->longest_ns, op->duration_ns);
    kernel->filled_ns += op->duration_ns * part_of_gpu(op, certainty);
    double more = xfw_max(kernel->longest_ns, kernel->filled_ns) - kernel->given_ns;
    kernel->given_ns += more;
    return more;
}

/* ---- the change ------------------------------------------------------------------------------ */

static void merge(struct xfw_op *op, enum xfw_certainty certainty, bool sends)
{
    op->own_ns = sends ? XFW_SUBMIT_NS : 0;
    op->duration_ns += sends ? XFW_LAUNCHED_NS : 0;
    op->latency_ns = op->space_ns = 0;
    if (certainty != XFW_LOW)
        op->gap_ns = 0;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    const struct xfw_place_in_pieces place = xfw_pieces_op(&state->pieces, player, op);
    (void)change;
    if (op->what != XFW_KERNEL || op->thread >= XFW_PIECE_THREADS)
        return;
    op->duration_ns = xfw_merged_ns(&state->merged, certainty, &place, op);
    if (place.is)
        merge(op, certainty, certainty == XFW_LOW && !state->sent[op->thread]);
    state->sent[op->thread] = place.is;
}

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct state *state = self;
    (void)change;
    state->pieces.at_best = xfw_player_certainty(player) == XFW_HIGH;
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    const struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    (void)change;
    if (certainty == XFW_LOW || !xfw_can_merge(op) || xfw_ends_launches(op, certainty))
        return begins;
    const struct xfw_piece_launch launch = xfw_piece_launch_of(op);
    bool goes_on = xfw_pieces_goes_on(&state->pieces, op->thread, &launch);
    return goes_on ? xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) : begins;
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_pieces_free(&((struct state *)self)->pieces);
}

struct xfw_change *xfw_change_batch_launches(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "batch launches",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = op,
        .begins = begins,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->last = true;
    change->least_part = XFW_RUNS_LEAST;
    change->of_span = true;
    change->at_best = "launches of which it is not known what they write do not need each other";
    return change;
}
