#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/for_host.h"
#include "analyzer/whatif/changes/work_order.h"
#include "xferscope/trace.h"

#define EVENTS 1024 /* behind work for the host: remembered */

/* A stream of the process, and the event behind what it was given last for the host. */
struct given {
    uint32_t stream; /* key */
    uint32_t event;
    uint64_t turn; /* of that event */
    int16_t gpu;
    bool kept;  /* an event of the program's stands for it, too */
    bool pends; /* it is not recorded yet: by `record` */
    struct xfw_op record;
    bool in_flight;
    bool for_thread; /* not only for functions that the stream calls */
    bool behind;     /* it waits for another stream since */
};

struct recorded {    /* an event of the program's */
    uint32_t event;  /* key */
    uint32_t behind; /* what the host needs: that event; XFW_NONE: not known */
    uint64_t turn;
};

struct result {
    struct xfw_memories memories;
    struct xfa_table streams, recorded;
    uint32_t events[EVENTS]; /* a ring */
    uint64_t turns;
    unsigned pending; /* streams */
    struct xfw_asked asked;
    struct xfw_work_order order;
};

struct result_wait {
    struct xfw_change change;
    bool ordered; /* streams wait for each other instead; else there is nothing to order */
    struct xfw_set at_best; /* further sites */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct result *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->streams, sizeof(uint32_t), sizeof(struct given));
    xfa_table_init(&state->recorded, sizeof(uint32_t), sizeof(struct recorded));
}

static void end(const struct xfw_change *change, void *self)
{
    struct result *state = self;
    (void)change;
    xfa_table_free(&state->streams);
    xfa_table_free(&state->recorded);
    xfw_memories_free(&state->memories);
    xfw_work_order_free(&state->order);
}

/* ---- what the host has to do with ------------------------------------------------------------ */

static void take_event(struct result *state, struct given *given, struct xfw_player *player)
{
    uint32_t *event = &state->events[state->turns % EVENTS];
    if (state->turns < EVENTS)
        *event = xfw_player_side_event(player);
    given->event = *event;
    given->turn = state->turns++;
    given->kept = false;
}

/* The program's own event stands for what the host needs of the work before it. */
static void note_record(struct result *state, const struct xfw_op *op)
{
    struct given *given = xfa_table_get(&state->streams, &op->stream);
    struct recorded *recorded = xfa_table_put(&state->recorded, &op->event);
    recorded->behind = given && !given->behind ? given->event : XFW_NONE;
    recorded->turn = given ? given->turn : 0;
    if (given)
        given->kept = true;
}

static void note_work(struct result *state, const struct xfw_change *change,
                      struct xfw_player *player, const struct xfw_op *op)
{
    bool best = xfw_player_certainty(player) == XFW_HIGH;
    if (op->stream == XFW_NONE ||
        !xfw_is_for_host(change->analysis, &state->memories, xfw_player_process(player), op, !best))
        return;
    struct given *given = xfa_table_get(&state->streams, &op->stream);
    if (!given) {
        given = xfa_table_put(&state->streams, &op->stream);
        given->kept = true;
        given->gpu = op->gpu;
    }
    if (given->kept || state->turns - given->turn > EVENTS)
        take_event(state, given, player);
    bool fetched = op->what == XFW_COPY && op->engine == XFW_TO_HOST;
    given->behind = false;
    if (((const struct result_wait *)change)->ordered && best && !given->for_thread &&
        op->what == XFW_HOST_FUNCTION) {
        given->in_flight = false; /* it reads what was fetched, and nobody waits for it */
        return;
    }
    given->in_flight = true;
    given->for_thread = given->for_thread || !fetched;
    state->pending += !given->pends;
    given->pends = true;
    given->record = xfw_op_like(op);
    given->record.what = XFW_RECORD;
    given->record.event = given->event;
}

/* Events are recorded before the op at hand, behind what other changes have made of the work. */
static void record_events(struct result *state, struct xfw_player *player)
{
    for (size_t i = 0; i < state->streams.count && state->pending; i++) {
        struct given *given = xfa_table_at(&state->streams, i);
        if (!given->pends)
            continue;
        given->pends = false;
        state->pending--;
        xfw_player_insert(player, &given->record);
    }
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
    bool any = ((const struct result_wait *)change)->ordered, first = true;
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
        if (first)
            xfw_op_take_gap(&wait, op);
        wait.kind = XFT_EVENT_SYNC;
        xfw_player_insert(player, &wait);
        any = true;
        first = false;
    }
    return any;
}

/* The same of a wait for an event of the program's, which is recorded earlier. */
static bool wait_for_event(struct result *state, const struct xfw_change *change,
                           struct xfw_player *player, struct xfw_op *op)
{
    const struct recorded *recorded = xfa_table_get(&state->recorded, &op->event);
    if (!recorded || recorded->behind == XFW_NONE || state->turns - recorded->turn > EVENTS)
        return false;
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = XFW_AWAITS_EVENT;
    wait.event = recorded->behind;
    wait.own_ns = xfw_asked_scalar(&state->asked, &change->analysis->achievable, "sync/event",
                                   op->gpu, XFW_SYNC_NS);
    wait.wake_ns = op->wake_ns;
    xfw_op_take_gap(&wait, op);
    wait.kind = XFT_EVENT_SYNC;
    xfw_player_insert(player, &wait);
    return true;
}

static void note_waited(struct result *state, const struct xfw_op *op)
{
    for (size_t i = 0; i < state->streams.count; i++) {
        struct given *given = xfa_table_at(&state->streams, i);
        given->in_flight = given->in_flight && !is_covered(given, op);
        given->for_thread = given->for_thread && given->in_flight;
    }
}

static bool is_mine(const struct result_wait *result, const struct xfw_player *player,
                    uint32_t site)
{
    bool best = xfw_player_certainty(player) == XFW_HIGH || result->change.assured;
    return xfw_set_has(&result->change.set, site) || (best && xfw_set_has(&result->at_best, site));
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct result_wait *result = (const struct result_wait *)change;
    struct result *state = self;
    bool may = xfw_player_certainty(player) != XFW_LOW || change->assured;
    if (op->what != XFW_MEETING &&
        !(op->what == XFW_COPY && xfw_copies_for_host(change->analysis, op)))
        record_events(state, player);
    if (result->ordered && may)
        xfw_work_order_op(&state->order, change, player, op);
    if (op->kind != XFT_EVENT_ALLOC || !xfa_is_of_device(op->memory))
        xfw_memories_op(&state->memories, op);
    if (xfw_op_is_work(op))
        note_work(state, change, player, op);
    if (op->what == XFW_WAIT && op->stream != XFW_NONE) {
        struct given *given = xfa_table_get(&state->streams, &op->stream);
        if (given)
            given->behind = true;
    }
    bool recorded = op->event != XFW_NONE && !op->made_up;
    if (op->what == XFW_RECORD && op->stream != XFW_NONE && recorded)
        note_record(state, op);
    if (op->kind != XFT_EVENT_SYNC)
        return;
    bool mine = may && op->site != XFW_NONE && is_mine(result, player, op->site);
    if (mine && op->awaits == XFW_AWAITS_EVENT && recorded &&
        wait_for_event(state, change, player, op))
        xfw_op_drop(op);
    if (op->awaits != XFW_AWAITS_DEVICE && op->awaits != XFW_AWAITS_STREAM)
        return;
    const struct xfw_op waited = *op;
    if (mine && wait_for_results(state, change, player, op)) {
        xfw_op_drop(op);
        xfw_work_order_gone(&state->order);
    } else {
        xfw_work_order_waited(&state->order, op);
    }
    note_waited(state, &waited);
}

static void release(struct xfw_change *change)
{
    xfw_set_free(&((struct result_wait *)change)->at_best);
}

static struct result_wait *result_wait(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "result wait",
        .state_bytes = sizeof(struct result),
        .begin = begin,
        .op = op,
        .end = end,
        .free = release,
    };
    return xfw_change_new(sizeof(struct result_wait), &type, analysis, sites);
}

struct xfw_change *xfw_change_result_wait(const struct xfa_analysis *analysis,
                                          struct xfw_set *sites)
{
    return &result_wait(analysis, sites)->change;
}

struct xfw_change *xfw_change_order_by_event(const struct xfa_analysis *analysis,
                                             struct xfw_set *sites, struct xfw_set *at_best)
{
    struct result_wait *result = result_wait(analysis, sites);
    result->ordered = true;
    result->at_best = *at_best;
    *at_best = (struct xfw_set){0};
    if (result->at_best.count > 0)
        result->change.at_best =
            "the host needs nothing of what functions that streams call have done, and no wait "
            "behind which only those are, or nothing that is known";
    return &result->change;
}
