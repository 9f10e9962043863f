#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

/* As preload/apply/streams/streams.h, pace.h and proof.h have it. */
#define LEAST_BYTES ((uint64_t)1 << 20)
#define PERIOD 16u    /* copies */
#define TRIALS 5u     /* periods of each way */
#define WORTH 0.9     /* of the time as asked: what gains less is left */
#define MOST_WORK 64u /* that is remembered: the last */
#define LOOK_FIRST 64u
#define LOOK_MOST 4096u

struct streams_by_apply {
    struct xfw_change change;
    bool kernels; /* they, and memsets, go with the copies */
};

struct state {
    struct work { /* of the default stream, or of one that stands for it; a ring */
        double begin_ns, end_ns;
        uint32_t stream;
        bool legacy;
    } work[MOST_WORK];
    unsigned count;
    struct work open; /* the op before: its end is known now */
    double open_ns;   /* how long it takes */
    bool is_open;
    uint32_t thread; /* the first that made such a copy */
    bool begun, several;
    bool ours; /* the way of the period */
    unsigned copies;
    uint64_t bytes;
    double begun_ns;
    struct tried {
        unsigned periods;
        double bytes, ns;
    } tried[2]; /* [ours] */
    unsigned since, interval;
    bool looks;
};

/* ---- by turns -------------------------------------------------------------------------------- */

static double ns_of(const struct tried *tried)
{
    return tried->bytes > 0 ? tried->ns / tried->bytes : 0;
}

static bool gains(const struct state *state)
{
    return ns_of(&state->tried[true]) < WORTH * ns_of(&state->tried[false]);
}

/* Both ways by turns; then the better one, and now and then a period of the other. */
static bool next_way(struct state *state)
{
    if (state->tried[true].periods < TRIALS || state->tried[false].periods < TRIALS)
        return state->tried[true].periods < state->tried[false].periods;
    state->interval = state->interval ? state->interval : LOOK_FIRST;
    state->looks = ++state->since >= state->interval;
    if (!state->looks)
        return gains(state);
    state->since = 0;
    state->interval = state->interval < LOOK_MOST ? 2 * state->interval : LOOK_MOST;
    return !gains(state);
}

/* A copy begins; a period ends with the beginning of the one behind its last. */
static void pace(struct state *state, double now_ns, uint64_t bytes)
{
    if (state->copies == PERIOD) {
        struct tried *tried = &state->tried[state->ours];
        if (now_ns > state->begun_ns) {
            tried->periods++;
            tried->bytes += (double)state->bytes;
            tried->ns += now_ns - state->begun_ns;
        }
        state->ours = next_way(state);
        state->copies = 0;
    }
    if (state->copies == 0) {
        state->bytes = 0;
        state->begun_ns = now_ns;
    }
    state->copies++;
    state->bytes += bytes;
}

/* ---- which copies ---------------------------------------------------------------------------- */

static bool is_one(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->what != XFW_COPY || op->awaits != XFW_AWAITS_ITSELF || op->bytes < LEAST_BYTES ||
        op->class == XFW_NONE)
        return false;
    const struct xfa_row_key *row = &xfa_class_key_at(&change->analysis->classes, op->class)->row;
    bool up = row->direction == XFT_DIR_H2D;
    return (up || row->direction == XFT_DIR_D2H) &&
           xfa_is_page_locked(up ? row->src_mem : row->dst_mem);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void note_end(struct state *state, const struct xfw_player *player)
{
    if (!state->is_open)
        return;
    state->open.end_ns = xfw_player_work_end(player, state->open.stream);
    state->open.begin_ns = state->open.end_ns - state->open_ns;
    state->work[state->count++ % MOST_WORK] = state->open;
    state->is_open = false;
}

/* In a stream of the thread's own, where it stays in order with work of the default stream: with
 * what has begun when its call is made. Threads do not come by turns as they did, and a copy that
 * its call waits for is not in the stream before it begins. */
static void to_its_own(struct state *state, struct xfw_player *player, struct xfw_op *op,
                       double called, bool legacy)
{
    uint32_t stream = xfw_stream_of_thread(op->thread);
    double after = 0;
    for (unsigned i = 0; i < MOST_WORK; i++) {
        const struct work *work = &state->work[i];
        if ((legacy || work->legacy) && work->stream != stream && work->begin_ns <= called)
            after = xfw_max(after, work->end_ns);
    }
    xfw_player_moved(player, op->stream, stream);
    op->stream = stream;
    op->stream_kind = XFW_NONBLOCKING;
    state->open = (struct work){.stream = stream, .legacy = legacy};
    state->open_ns = op->duration_ns;
    state->is_open = true;
    if (after > xfw_schedule_stream_end(xfw_player_schedule(player), stream))
        xfw_player_stream_after(player, stream, after);
}

/* ---- the change ------------------------------------------------------------------------------ */

static bool look_at(const struct xfw_change *change, struct state *state, const struct xfw_op *op,
                    double called)
{
    if (!is_one(change, op))
        return false;
    state->several = state->several || (state->begun && op->thread != state->thread);
    state->thread = state->begun ? state->thread : op->thread;
    state->begun = true;
    if (state->several)
        pace(state, called, op->bytes);
    return true;
}

static void op_by_apply(const struct xfw_change *change, void *self, struct xfw_player *player,
                        struct xfw_op *op)
{
    const struct streams_by_apply *apply = (const struct streams_by_apply *)change;
    struct state *state = self;
    note_end(state, player);
    if (xfw_player_certainty(player) == XFW_LOW || op->stream == XFW_NONE ||
        op->stream_kind != XFW_LEGACY || xfw_op_is_beside(op) || !xfw_op_is_work(op))
        return;
    double called = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) + op->gap_ns;
    bool copy = look_at(change, state, op, called);
    bool goes = state->ours &&
                (copy || (apply->kernels && (op->what == XFW_KERNEL || op->what == XFW_SET)));
    if (!state->several)
        return;
    if (op->overtook) /* how far behind other work is not known */
        op->space_ns = xfw_min(op->space_ns, op->latency_ns);
    op->overtook = false;
    op->was_legacy = goes;
    to_its_own(state, player, op, called, !goes);
}

struct xfw_change *xfw_change_streams_by_apply(const struct xfa_analysis *analysis, bool kernels)
{
    static const struct xfw_change_type type = {
        .name = "streams by apply", .state_bytes = sizeof(struct state), .op = op_by_apply};
    struct streams_by_apply *apply = xfw_change_new(sizeof *apply, &type, analysis, NULL);
    apply->change.first = true;
    apply->kernels = kernels;
    return &apply->change;
}
