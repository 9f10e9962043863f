#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/graphs_kept.h"

#define UPDATE_PART 0.5 /* of instantiating and launching, where nothing is known (a guess) */
#define VARIES 0.25     /* of what is saved */

/* ---- costs ----------------------------------------------------------------------------------- */

static double cost(const struct xfa_achievable *achievable, const char *what, int gpu,
                   uint64_t nodes)
{
    return xfw_table_cost(achievable, what, -1, gpu, nodes, XFW_LIKELY);
}

struct xfw_graph_parts xfw_graph_parts(const struct xfa_achievable *achievable, int gpu,
                                       uint64_t nodes, enum xfw_certainty certainty)
{
    double made = cost(achievable, "graph/instantiate", gpu, nodes);
    double updated = cost(achievable, "graph/update", gpu, nodes);
    double launched = cost(achievable, "graph/launch", gpu, nodes);
    struct xfw_graph_parts parts = {.known = made > 0 && updated > 0 && launched > 0};
    double part = parts.known ? fmin(1, updated / made) : UPDATE_PART;
    double again = parts.known ? fmin(part, launched / made) : 0;
    if (certainty == XFW_LOW)
        part = parts.known ? 1 - (1 - part) * (1 - VARIES) : 1;
    parts.left = certainty == XFW_HIGH ? again : part;
    return parts;
}

/* ---- the change ------------------------------------------------------------------------------ */

struct kept_graphs {
    struct xfw_change change;
    const struct xfa_table *calls;
};

struct made {
    uint64_t exec; /* key */
    double left;   /* part of the time of its first launch; 1: it is none any more */
};

struct state {
    struct xfw_once_book book; /* of what is played */
    struct xfa_table made;     /* struct made: those that are updates now */
    struct kept {
        uint64_t there, gives;
    } * kept;           /* by place in the run's calls: destroyed, and kept */
    uint64_t there;     /* of all */
    uint32_t capturing; /* the thread whose last call was captured for one of these, + 1 */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct kept_graphs *graphs = (const struct kept_graphs *)change;
    struct state *state = self;
    (void)player;
    xfw_once_book_init(&state->book);
    xfa_table_init(&state->made, sizeof(uint64_t), sizeof(struct made));
    state->kept = xfa_alloc((graphs->calls->count + 1) * sizeof *state->kept);
}

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    (void)change;
    xfw_once_book_free(&state->book);
    xfa_table_free(&state->made);
    free(state->kept);
}

static size_t place_of(const struct kept_graphs *graphs, const struct xfw_once_calls *calls)
{
    return (size_t)(calls - (const struct xfw_once_calls *)xfa_table_at(graphs->calls, 0));
}

struct xfw_once_key xfw_graph_key(uint32_t process, uint32_t site, uint64_t form, uint64_t nodes)
{
    return (struct xfw_once_key){
        .bytes = form, .process = process, .site = site, .gpu = -1, .memory = (uint32_t)nodes};
}

/* As much of its time is left as an update and its launch take. */
static void instantiate(const struct kept_graphs *graphs, struct state *state,
                        const struct xfw_player *player, struct xfw_op *op)
{
    const struct xfw_once_key key =
        xfw_graph_key(xfw_player_process(player)->number, op->site, op->src, op->threads);
    const struct xfw_once_calls *calls = xfa_table_get(graphs->calls, &key);
    if (!calls || !xfw_set_has(&graphs->change.set, (uint32_t)place_of(graphs, calls)))
        return;
    struct kept *kept = &state->kept[place_of(graphs, calls)];
    double left = 1;
    xfw_once_take(&state->book, &key, op->dst, 0, 0);
    if (kept->there) {
        kept->there--;
        state->there--;
        left = xfw_graph_parts(&graphs->change.analysis->achievable, op->gpu, op->threads,
                               xfw_player_certainty(player))
                   .left;
        op->own_ns *= left;
    }
    struct made *made = xfa_table_put(&state->made, &op->dst);
    made->left = left;
}

static void destroy(const struct kept_graphs *graphs, struct state *state, struct xfw_op *op)
{
    const struct xfw_once_calls *mine = xfw_once_give(&state->book, op->dst, 0);
    const struct xfw_once_calls *calls = mine ? xfa_table_get(graphs->calls, &mine->key) : NULL;
    if (!calls)
        return;
    struct kept *kept = &state->kept[place_of(graphs, calls)];
    if (kept->gives++ < xfw_once_needless_gives(calls)) {
        kept->there++;
        state->there++;
        xfw_op_drop(op);
        op->own_ns = 0;
    }
}

static void launch(struct state *state, struct xfw_op *op)
{
    struct made *made = xfa_table_get(&state->made, &op->threads);
    if (made) {
        xfw_op_launch_sooner(op, op->own_ns * (1 - made->left));
        made->left = 1;
    }
}

/* Where nothing changes, nothing needs to be captured while a graph waits to be launched again:
 * launches of kernels go, and the thread's own time between them and until the capture's end. */
static void leave_capture_out(struct state *state, struct xfw_op *op)
{
    bool captured = op->what == XFW_CALL && op->kind == XFT_EVENT_LAUNCH && state->there > 0;
    if (state->capturing == op->thread + 1 && (captured || op->kind == XFT_EVENT_GRAPH_CALL))
        op->gap_ns = 0;
    if (captured)
        op->own_ns = 0;
    if (captured || state->capturing == op->thread + 1)
        state->capturing = captured ? op->thread + 1 : 0;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct kept_graphs *graphs = (const struct kept_graphs *)change;
    if (xfw_player_certainty(player) == XFW_HIGH)
        leave_capture_out(self, op);
    if (op->what == XFW_GRAPH)
        launch(self, op);
    else if (op->what == XFW_CALL && op->kind == XFT_EVENT_GRAPH_CALL &&
             op->memory == XFT_GRAPH_INSTANTIATED)
        instantiate(graphs, self, player, op);
    else if (op->what == XFW_CALL && op->kind == XFT_EVENT_GRAPH_CALL &&
             op->memory == XFT_GRAPH_DESTROYED)
        destroy(graphs, self, op);
}

struct xfw_change *xfw_change_keep_graphs(const struct xfa_analysis *analysis,
                                          const struct xfa_table *calls, struct xfw_set *chosen)
{
    static const struct xfw_change_type type = {
        .name = "graphs kept",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = op,
        .end = end,
    };
    struct kept_graphs *graphs = xfw_change_new(sizeof *graphs, &type, analysis, chosen);
    graphs->calls = calls;
    graphs->change.at_best = "what a graph's nodes are given does not change from one to the next, "
                             "so that nothing needs to be captured or updated";
    return &graphs->change;
}
