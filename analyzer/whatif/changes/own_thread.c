#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "xferscope/trace.h"

/* A stream, an event or a thread, and the function that it is behind: that op's number, + 1; 0:
 * none whose work the thread of the program's own does. */
struct behind {
    uint32_t which; /* key */
    uint64_t function;
};

/* A thread whose next op waits for the job of that function; 0: for none. */
struct waited {
    uint32_t thread; /* key */
    uint64_t function;
    struct xfw_op like; /* its wait */
};

struct own_thread {
    struct xfa_table streams, events; /* struct behind */
    struct xfa_table waited;          /* struct waited */
    uint64_t last;                    /* of any stream */
    struct xfw_asked asked;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct own_thread *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->streams, sizeof(uint32_t), sizeof(struct behind));
    xfa_table_init(&state->events, sizeof(uint32_t), sizeof(struct behind));
    xfa_table_init(&state->waited, sizeof(uint32_t), sizeof(struct waited));
}

static void end(const struct xfw_change *change, void *self)
{
    struct own_thread *state = self;
    (void)change;
    xfa_table_free(&state->streams);
    xfa_table_free(&state->events);
    xfa_table_free(&state->waited);
}

static void note(struct xfa_table *table, uint32_t which, uint64_t function)
{
    ((struct behind *)xfa_table_put(table, &which))->function = function;
}

static uint64_t function_of(const struct xfa_table *table, uint32_t which)
{
    const struct behind *behind = xfa_table_get(table, &which);
    return behind ? behind->function : 0;
}

/* The stream goes on once the driver has called the function (xfw_called_after()), and the thread
 * has the job; the thread begins then, or when it is done with those before (schedule.c). */
static void hand_over(struct own_thread *state, struct xfw_op *op)
{
    op->job_ns += op->duration_ns;
    op->duration_ns = 0;
    state->last = op->number + 1;
    note(&state->streams, op->stream, state->last);
}

/* The host waits for the thread, too, behind its wait for the stream, an event or the device. */
static void note_wait(struct own_thread *state, const struct xfw_op *op)
{
    uint64_t function = 0;
    if (op->awaits == XFW_AWAITS_STREAM)
        function = function_of(&state->streams, op->stream);
    else if (op->awaits == XFW_AWAITS_EVENT)
        function = function_of(&state->events, op->event);
    else if (op->awaits == XFW_AWAITS_DEVICE)
        function = state->last;
    if (!function)
        return;
    struct waited *waited = xfa_table_put(&state->waited, &op->thread);
    waited->function = function;
    waited->like = xfw_op_like(op);
}

static void wait_for_thread(struct own_thread *state, const struct xfw_change *change,
                            struct xfw_op *op, struct waited *waited)
{
    if (op->woken_by == XFW_NONE && !op->woken_by_stream) {
        op->for_job = op->job_counts = true;
        op->woken_by_stream = waited->function;
        op->woken_after_ns = xfw_asked_scalar(&state->asked, &change->analysis->achievable,
                                              "sync/event", op->gpu, XFW_WAKE_NS);
    }
    waited->function = 0;
}

/* Threads whose last op was such a wait. */
static void finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct own_thread *state = self;
    for (size_t i = 0; i < state->waited.count; i++) {
        struct waited *waited = xfa_table_at(&state->waited, i);
        if (!waited->function)
            continue;
        wait_for_thread(state, change, &waited->like, waited);
        xfw_player_play(player, &waited->like);
    }
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct own_thread *state = self;
    if (xfw_player_certainty(player) == XFW_LOW && !change->assured)
        return;
    struct waited *waited = xfa_table_get(&state->waited, &op->thread);
    bool mine = op->what == XFW_HOST_FUNCTION && op->site != XFW_NONE && op->stream != XFW_NONE &&
                xfw_set_has(&change->set, op->site);
    if (waited && waited->function)
        wait_for_thread(state, change, op, waited);
    if (mine && op->duration_ns > 0)
        hand_over(state, op);
    else if (op->what == XFW_RECORD && op->event != XFW_NONE && op->stream != XFW_NONE)
        note(&state->events, op->event, function_of(&state->streams, op->stream));
    else if (op->kind == XFT_EVENT_SYNC && xfw_player_certainty(player) != XFW_HIGH)
        note_wait(state, op);
}

struct xfw_change *xfw_change_own_thread(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "own thread",
        .state_bytes = sizeof(struct own_thread),
        .begin = begin,
        .op = op,
        .finish = finish,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, sites);
    change->on_trial = true;
    change->from = XFW_LIKELY;
    change->first = true; /* others may have the host wait later */
    return change;
}
