#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "xferscope/trace.h"

/* A stream of the process, and the event behind what it was given last for the host. */
struct given {
    uint32_t stream; /* key */
    uint32_t event;
    int16_t gpu;
    bool in_flight;
    bool behind; /* it waits for another stream since */
};

struct result {
    struct xfw_memories memories;
    struct xfa_table streams;
    struct xfw_asked asked;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct result *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->streams, sizeof(uint32_t), sizeof(struct given));
}

static void end(const struct xfw_change *change, void *self)
{
    struct result *state = self;
    (void)change;
    xfa_table_free(&state->streams);
    xfw_memories_free(&state->memories);
}

/* ---- what the host has to do with ------------------------------------------------------------ */

static bool copies_for_host(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->class == XFW_NONE)
        return true;
    const struct xfa_row_key *row = &xfa_class_at(&change->analysis->classes, op->class)->key.row;
    return !xfa_is_of_device(row->src_mem) || !xfa_is_of_device(row->dst_mem);
}

static bool is_for_host(const struct xfw_change *change, const struct result *state,
                        struct xfw_player *player, const struct xfw_op *op)
{
    bool best = xfw_player_certainty(player) == XFW_HIGH;
    switch ((enum xfw_what)op->what) {
    case XFW_COPY:
        return op->awaits == XFW_AWAITS_NOTHING && copies_for_host(change, op);
    case XFW_SET:
        return !xfa_is_of_device(op->memory);
    case XFW_KERNEL: {
        enum xfw_given_host given =
            xfw_given_host(&state->memories, xfw_player_process(player), op->arguments);
        return given == XFW_GIVEN_HOST || (given == XFW_GIVEN_UNKNOWN && !best);
    }
    case XFW_GRAPH:
        return !best || op->up_ns + op->down_ns > 0;
    case XFW_HOST_FUNCTION:
    case XFW_PREFETCH:
        return true;
    default:
        return false;
    }
}

static void note_work(struct result *state, const struct xfw_change *change,
                      struct xfw_player *player, const struct xfw_op *op)
{
    if (op->stream == XFW_NONE || !is_for_host(change, state, player, op))
        return;
    struct given *given = xfa_table_get(&state->streams, &op->stream);
    if (!given) {
        given = xfa_table_put(&state->streams, &op->stream);
        given->event = xfw_player_side_event(player);
        given->gpu = op->gpu;
    }
    given->in_flight = true;
    given->behind = false;
    struct xfw_op record = xfw_op_like(op);
    record.what = XFW_RECORD;
    record.event = given->event;
    xfw_player_play_behind(player, &record);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool is_covered(const struct given *given, const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_DEVICE)
        return given->gpu == op->gpu || op->gpu < 0 || given->gpu < 0;
    return given->stream == op->stream;
}

/* What the wait is for, one event after the other, comes in its place. False: nothing is known. */
static bool wait_for_results(struct result *state, const struct xfw_change *change,
                             struct xfw_player *player, struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    bool any = false;
    for (size_t i = 0; i < state->streams.count; i++) {
        const struct given *given = xfa_table_at(&state->streams, i);
        if (!is_covered(given, op) || !given->in_flight)
            continue;
        if (op->awaits == XFW_AWAITS_STREAM && given->behind)
            return false;
        struct xfw_op wait = xfw_op_like(op);
        wait.awaits = XFW_AWAITS_EVENT;
        wait.event = given->event;
        wait.own_ns =
            xfw_asked_scalar(&state->asked, achievable, "event/record", given->gpu, XFW_RECORD_NS) +
            xfw_asked_scalar(&state->asked, achievable, "sync/event", given->gpu, XFW_SYNC_NS);
        wait.wake_ns = op->wake_ns;
        if (!any)
            xfw_op_take_gap(&wait, op);
        xfw_player_play(player, &wait);
        any = true;
    }
    return any;
}

static void note_waited(struct result *state, const struct xfw_op *op)
{
    for (size_t i = 0; i < state->streams.count; i++) {
        struct given *given = xfa_table_at(&state->streams, i);
        given->in_flight = given->in_flight && !is_covered(given, op);
    }
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct result *state = self;
    if (op->kind != XFT_EVENT_ALLOC || !xfa_is_of_device(op->memory))
        xfw_memories_op(&state->memories, op);
    if (xfw_op_is_work(op))
        note_work(state, change, player, op);
    if (op->what == XFW_WAIT && op->stream != XFW_NONE) {
        struct given *given = xfa_table_get(&state->streams, &op->stream);
        if (given)
            given->behind = true;
    }
    if (op->kind != XFT_EVENT_SYNC ||
        (op->awaits != XFW_AWAITS_DEVICE && op->awaits != XFW_AWAITS_STREAM))
        return;
    bool mine = op->site != XFW_NONE && xfw_set_has(&change->set, op->site) &&
                (xfw_player_certainty(player) != XFW_LOW || change->assured);
    const struct xfw_op waited = *op;
    if (mine && wait_for_results(state, change, player, op))
        xfw_op_drop(op);
    note_waited(state, &waited);
}

struct xfw_change *xfw_change_result_wait(const struct xfa_analysis *analysis,
                                          struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "result wait",
        .state_bytes = sizeof(struct result),
        .begin = begin,
        .op = op,
        .end = end,
    };
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}
