#include "analyzer/whatif/changes/changes.h"

#define MOST_STREAMS 64 /* that are followed: threads share few */
#define MOST_THREADS 64

/* Of threads that share a stream, all but its first one get one of their own: else their work would
 * wait for each other on the device, in place of the lock. */
struct state {
    struct shared {
        uint32_t stream, thread; /* the first that used it */
    } streams[MOST_STREAMS];
    struct latest {
        uint32_t thread, stream; /* of its last work */
    } threads[MOST_THREADS];
    unsigned stream_count, thread_count;
};

/* ---- the lock -------------------------------------------------------------------------------- */

/* Of it the thread slept so long, by its processor time: what it waited for; 0: not known. */
static double slept_ns(const struct xfw_op *op)
{
    return op->gap_ns * op->slept_parts / XFW_OF_ALL;
}

/* What is left of the thread's time before a call that it made behind another thread's turn: at
 * best it waited for all of that, as likely for what is beyond its usual work; and it waited as it
 * slept, and may have spun before. */
static double own_ns(const struct xfw_change *change, const struct xfw_player *player,
                     const struct xfw_op *op)
{
    if (!xfw_change_applies(change, player) || !xfw_op_is_call(op) || !(op->behind_ns > 0))
        return op->gap_ns;
    bool best = xfw_player_certainty(player) == XFW_HIGH;
    double own = best ? (double)op->behind_ns : (double)op->likely_ns;
    return xfw_min(op->gap_ns - slept_ns(op), own);
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    double own = own_ns(change, player, op);
    (void)self;
    return own < op->gap_ns ? xfw_schedule_thread_now(xfw_player_schedule(player), op->thread) + own
                            : begins;
}

static void go_at_once(const struct xfw_change *change, const struct xfw_player *player,
                       struct xfw_op *op)
{
    double own = own_ns(change, player, op);
    if (!(own < op->gap_ns))
        return;
    op->gap_ns = own;
    op->woken_by = XFW_NONE;
    op->woken_by_stream = 0;
    op->joins = false;
}

/* ---- a stream for each thread ---------------------------------------------------------------- */

/* The thread whose stream it stays. */
static uint32_t owner_of(struct state *state, const struct xfw_op *op)
{
    for (unsigned i = 0; i < state->stream_count; i++)
        if (state->streams[i].stream == op->stream)
            return state->streams[i].thread;
    if (state->stream_count < MOST_STREAMS && xfw_op_is_work(op))
        state->streams[state->stream_count++] = (struct shared){op->stream, op->thread};
    return op->thread;
}

static void note_latest(struct state *state, const struct xfw_op *op)
{
    unsigned i = 0;
    while (i < state->thread_count && state->threads[i].thread != op->thread)
        i++;
    if (i == MOST_THREADS)
        return;
    state->threads[i] = (struct latest){op->thread, op->stream};
    state->thread_count += i == state->thread_count;
}

/* A thread waits for the device where the work of all is over: with a stream of its own, for that.
 */
static void wait_for_own(const struct state *state, struct xfw_op *op)
{
    for (unsigned i = 0; i < state->thread_count; i++)
        if (state->threads[i].thread == op->thread) {
            op->awaits = XFW_AWAITS_STREAM;
            op->stream = state->threads[i].stream;
        }
}

static void to_its_own(struct state *state, struct xfw_player *player, struct xfw_op *op)
{
    uint32_t stream = xfw_stream_of_thread(op->thread);
    if (op->kind == XFT_EVENT_SYNC && op->awaits == XFW_AWAITS_DEVICE) {
        wait_for_own(state, op);
        return;
    }
    if (op->stream == XFW_NONE || xfw_op_is_beside(op))
        return;
    if (owner_of(state, op) != op->thread) {
        xfw_player_moved(player, op->stream, stream);
        op->stream = stream;
        op->overtook = false;
    }
    if (op->stream_kind == XFW_LEGACY) {
        op->stream_kind = XFW_NONBLOCKING;
        op->was_legacy = true;
    }
    if (xfw_op_is_work(op))
        note_latest(state, op);
}

/* ---- the change ------------------------------------------------------------------------------ */

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    if (!xfw_change_applies(change, player) || !(xfw_player_process(player)->turns_ns > 0))
        return;
    go_at_once(change, player, op);
    to_its_own(self, player, op);
}

struct xfw_change *xfw_change_no_turns(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "no turns", .state_bytes = sizeof(struct state), .op = op, .begins = begins};
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->least_part = XFW_TURNS_LEAST;
    change->of_span = true;
    change->doubted = true;
    change->frees_turns = true;
    change->from = XFW_HIGH;
    return change;
}
