#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "xferscope/trace.h"

/* A stream whose functions have gone to the thread. */
struct given {
    uint32_t stream; /* key */
    uint32_t side;   /* what the thread does of it */
    uint32_t event;  /* behind what the thread was given last */
};

/* An event of the program that was recorded behind a function. */
struct behind {
    uint32_t event; /* key */
    uint32_t side;  /* what the thread had done by then */
};

struct own_thread {
    struct xfa_table streams, events;
    struct xfw_asked asked;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct own_thread *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->streams, sizeof(uint32_t), sizeof(struct given));
    xfa_table_init(&state->events, sizeof(uint32_t), sizeof(struct behind));
}

static void end(const struct xfw_change *change, void *self)
{
    struct own_thread *state = self;
    (void)change;
    xfa_table_free(&state->streams);
    xfa_table_free(&state->events);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void play_in(struct xfw_player *player, const struct xfw_op *op, enum xfw_what what,
                    uint32_t stream, uint32_t event)
{
    struct xfw_op step = xfw_op_like(op);
    step.what = (uint8_t)what;
    step.stream = stream;
    step.stream_kind = stream == op->stream ? op->stream_kind : XFW_NONBLOCKING;
    step.event = event;
    xfw_player_play_behind(player, &step);
}

/* The stream goes on once the driver has called the function (XFW_CALLED_AFTER_NS), and the thread
 * has the job; the thread begins then, or when it is done with those before. */
static void hand_over(struct own_thread *state, struct xfw_player *player, struct xfw_op *op)
{
    struct given *given = xfa_table_get(&state->streams, &op->stream);
    struct xfw_op job = xfw_op_like(op);
    if (!given) {
        given = xfa_table_put(&state->streams, &op->stream);
        given->side = xfw_player_side_stream(player, op->stream, XFW_SIDE_HOST);
        given->event = xfw_player_side_event(player);
    }
    job.what = XFW_HOST_FUNCTION;
    job.stream = given->side;
    job.stream_kind = XFW_NONBLOCKING;
    job.engine = XFW_JOBS;
    job.exclusive = true;
    job.duration_ns = op->duration_ns;
    op->duration_ns = 0;
    play_in(player, op, XFW_RECORD, op->stream, given->event);
    play_in(player, op, XFW_WAIT, given->side, given->event);
    xfw_player_play_behind(player, &job);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void note_record(struct own_thread *state, struct xfw_player *player,
                        const struct xfw_op *op)
{
    const struct given *given = xfa_table_get(&state->streams, &op->stream);
    if (!given || op->event == XFW_NONE)
        return;
    struct behind *behind = xfa_table_get(&state->events, &op->event);
    if (!behind) {
        behind = xfa_table_put(&state->events, &op->event);
        behind->side = xfw_player_side_event(player);
    }
    play_in(player, op, XFW_RECORD, given->side, behind->side);
}

/* The host waits for the thread, too, before it waits for the stream. A wait for the device is for
 * all streams, and so for the thread's. */
static void wait_for_thread(struct own_thread *state, const struct xfw_change *change,
                            struct xfw_player *player, struct xfw_op *op)
{
    const struct given *given = NULL;
    const struct behind *behind = NULL;
    if (op->awaits == XFW_AWAITS_STREAM)
        given = xfa_table_get(&state->streams, &op->stream);
    else if (op->awaits == XFW_AWAITS_EVENT)
        behind = xfa_table_get(&state->events, &op->event);
    if (!given && !behind)
        return;
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = given ? XFW_AWAITS_STREAM : XFW_AWAITS_EVENT;
    wait.stream = given ? given->side : XFW_NONE;
    wait.stream_kind = XFW_NONBLOCKING;
    wait.event = behind ? behind->side : XFW_NONE;
    wait.wake_ns = xfw_asked_scalar(&state->asked, &change->analysis->achievable, "sync/event",
                                    op->gpu, XFW_WAKE_NS);
    xfw_op_take_gap(&wait, op);
    xfw_player_play(player, &wait);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct own_thread *state = self;
    if (xfw_player_certainty(player) == XFW_LOW && !change->assured)
        return;
    bool mine = op->what == XFW_HOST_FUNCTION && op->site != XFW_NONE && op->stream != XFW_NONE &&
                xfw_set_has(&change->set, op->site);
    if (mine && op->duration_ns > 0)
        hand_over(state, player, op);
    else if (op->what == XFW_RECORD)
        note_record(state, player, op);
    else if (op->kind == XFT_EVENT_SYNC && xfw_player_certainty(player) != XFW_HIGH)
        wait_for_thread(state, change, player, op);
}

struct xfw_change *xfw_change_own_thread(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "own thread",
        .state_bytes = sizeof(struct own_thread),
        .begin = begin,
        .op = op,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, sites);
    change->on_trial = true;
    change->first = true; /* what others make of a wait does not wait for the thread */
    return change;
}
