#include "analyzer/whatif/changes/launch_graphs.h"

#include "analyzer/whatif/changes/batch_launches.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/launch_runs.h"
#include "analyzer/whatif/changes/sequences.h"

/* Guesses where the profile has no figure. */
#define INSTANTIATE_NODE_NS 3000.0
#define UPDATE_NODE_NS 500.0

#define MANY_NODES 128    /* what one more node takes is known of many */
#define STARVED_NS 3000.0 /* it began no later behind its call (2 us on an H200): not queued */

struct state {
    struct xfw_sequences sequences;
    struct xfw_pieces pieces; /* at best */
    struct xfw_merged merged;
    bool asked;
    int gpu;                               /* whose costs these are */
    double launch_ns, made_ns, updated_ns; /* made, updated: of one node */
    struct space {
        bool measured;
        double ns;
    } space;
};

/* ---- costs ----------------------------------------------------------------------------------- */

static double of_node(const struct xfa_achievable *achievable, const char *what, int gpu,
                      enum xfw_certainty certainty, double otherwise)
{
    double ns = xfw_table_cost(achievable, what, -1, gpu, MANY_NODES, certainty) / MANY_NODES;
    return ns > 0 ? ns : otherwise;
}

/* From the end of a graph's kernel to the start of the next one. Where the profile has no figure, a
 * guess for every GPU (on an H200 0.03 to 0.13 us were recorded, and kernels in graphs took a tenth
 * more). */
static struct space space_of(const struct xfa_achievable *achievable, int gpu,
                             enum xfw_certainty certainty)
{
    static const double guesses[] = {[XFW_LOW] = 1000, [XFW_LIKELY] = 250, [XFW_HIGH] = 50};
    double ns = xfw_scalar_cost_by(achievable, "graph/device-node", gpu, certainty, -1);
    return ns < 0 ? (struct space){false, guesses[certainty]} : (struct space){true, ns};
}

static void ask(const struct xfw_change *change, struct state *state, enum xfw_certainty certainty,
                int gpu)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    if (state->asked && state->gpu == gpu)
        return;
    state->asked = true;
    state->gpu = gpu;
    double launch = xfw_table_cost(achievable, "graph/launch", -1, gpu, XFW_GRAPH_NODES, certainty);
    state->launch_ns =
        launch > 0 ? launch : xfw_scalar_cost(achievable, "launch/kernel", gpu, XFW_SUBMIT_NS);
    state->made_ns = of_node(achievable, "graph/instantiate", gpu, certainty, INSTANTIATE_NODE_NS);
    state->updated_ns = of_node(achievable, "graph/update", gpu, certainty, UPDATE_NODE_NS);
    state->space = space_of(achievable, gpu, certainty);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* It can be a node, or an edge. A copy to the device sends what the host may have written only now;
 * a kernel that other ranks' wait for is the library's. */
static bool submits(const struct xfw_op *op)
{
    if (op->awaits != XFW_AWAITS_NOTHING || op->stream == XFW_NONE)
        return false;
    if (op->what == XFW_COPY)
        return op->engine != XFW_TO_DEVICE;
    return (op->what == XFW_KERNEL && !op->meets) || op->what == XFW_SET ||
           op->what == XFW_RECORD || op->what == XFW_WAIT;
}

static struct xfw_submission submission_of(const struct xfw_op *op)
{
    struct xfw_submission call = {.stream = op->stream, .gpu = op->gpu};
    call.what = xfw_sequence_mix(op->what, op->stream);
    if (op->what == XFW_KERNEL) {
        call.what = xfw_sequence_mix(xfw_sequence_mix(call.what, op->name), op->threads);
        call.with = op->arguments;
        call.launches = true;
    } else if (op->what == XFW_COPY || op->what == XFW_SET) {
        call.what = xfw_sequence_mix(call.what, op->bytes);
        call.with = xfw_sequence_mix(op->src, op->dst);
        call.launches = op->what == XFW_SET;
    }
    return call;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* It had waited for its call, not for the work before it. */
static bool was_starved(const struct xfw_op *op)
{
    return op->device_start_ns - op->end_ns <= STARVED_NS;
}

static void become_node(struct state *state, enum xfw_certainty certainty,
                        const struct xfw_place_in_graph *place, struct xfw_op *op)
{
    bool updated = certainty == XFW_LOW || (certainty == XFW_LIKELY && place->changed);
    double own = updated ? state->updated_ns : 0;
    if (place->begins)
        own = xfw_max(own + state->launch_ns, op->own_ns);
    if (place->grown)
        own += state->made_ns;
    op->own_ns = place->begins || place->grown ? own : xfw_min(op->own_ns, own);
    if (place->begins)
        return;
    if (certainty != XFW_LOW)
        op->gap_ns = 0;
    bool nearer = was_starved(op) || (state->space.measured && certainty != XFW_LOW);
    if (op->what == XFW_KERNEL && nearer)
        op->space_ns = xfw_min(op->space_ns, state->space.ns);
}

/* At best it is of a kernel for all pieces, which takes no longer than that. */
static void become_piece(struct state *state, struct xfw_player *player, struct xfw_op *op)
{
    const struct xfw_place_in_pieces place = xfw_pieces_op(&state->pieces, player, op);
    if (op->what != XFW_KERNEL)
        return;
    op->duration_ns = xfw_merged_ns(&state->merged, XFW_HIGH, &place, op);
    if (place.is)
        op->own_ns = op->gap_ns = op->latency_ns = op->space_ns = 0;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (xfw_is_between_launches(op))
        return;
    if (certainty == XFW_HIGH)
        become_piece(state, player, op);
    if (!submits(op) || xfw_ends_launches(op, certainty))
        xfw_sequences_break(&state->sequences, op->thread);
    if (!submits(op))
        return;
    const struct xfw_submission call = submission_of(op);
    struct xfw_place_in_graph place = xfw_sequences_next(&state->sequences, op->thread, &call);
    if (!place.is)
        return;
    ask(change, state, certainty, op->gpu);
    become_node(state, certainty, &place, op);
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    const struct state *state = self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    (void)change;
    if (certainty == XFW_LOW || !submits(op) || xfw_ends_launches(op, certainty))
        return begins;
    const struct xfw_submission call = submission_of(op);
    bool goes_on = xfw_sequences_goes_on(&state->sequences, op->thread, &call);
    return goes_on ? xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) : begins;
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_pieces_free(&((struct state *)self)->pieces);
}

struct xfw_change *xfw_change_launch_graphs(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "launch graphs",
        .state_bytes = sizeof(struct state),
        .op = op,
        .begins = begins,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->last = true;
    change->least_part = XFW_RUNS_LEAST;
    change->of_span = true;
    change->at_best = "what varies from one launch to the next lies in memory of the device";
    return change;
}
