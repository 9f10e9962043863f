#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/own_work.h"

enum { BUFFERS = 2 };

struct work_beside {
    struct xfw_change change;
    double part; /* of own time that is both, work on what was brought (own_work.h) */
};

/* A thread of the program, and the one that does its work. */
struct worker {
    struct xfw_fetched fetched; /* first member: with the key */
    bool waited;                /* for a buffer, since the last job */
    uint64_t jobs;
    double ends[BUFFERS]; /* of the last jobs, a ring, by the schedule's clock */
    double behind_ns;     /* of jobs, since the thread's last work or wait: not of the span */
    struct xfw_op last;   /* like the thread's last op behind a job */
};

struct workers {
    struct xfa_table workers; /* struct worker */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct workers *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->workers, sizeof(uint32_t), sizeof(struct worker));
}

static void end(const struct xfw_change *change, void *self)
{
    struct workers *state = self;
    (void)change;
    xfa_table_free(&state->workers);
}

static double end_of_job(const struct worker *worker, uint64_t back)
{
    return worker->jobs >= back ? worker->ends[(worker->jobs - back) % BUFFERS] : 0;
}

/* How much of time that is both goes: at best half, since then both threads have as much to do. */
static double part_of(const struct xfw_change *change, const struct xfw_player *player)
{
    const double likely = ((const struct work_beside *)change)->part;
    const enum xfw_certainty certainty = xfw_player_certainty(player);
    return certainty == XFW_LIKELY ? likely : certainty == XFW_HIGH ? 0.5 : 0;
}

/* The thread's own time that was work on what it has fetched is the worker's. */
static void hand_over(struct worker *worker, const struct xfw_player *player, struct xfw_op *op,
                      double part)
{
    const double ns = xfw_fetched_work_ns(&worker->fetched, op, part);
    if (op->gap_ns <= XFW_BUSY_NS || xfw_fetched_equals(&worker->fetched, op))
        return;
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    double after = xfw_max(now, end_of_job(worker, 1));
    worker->ends[worker->jobs++ % BUFFERS] = after + ns;
    worker->waited = false;
    worker->behind_ns += ns;
    op->gap_ns -= ns;
}

static void wait_until(struct xfw_player *player, struct xfw_op *op, double ns)
{
    struct xfw_op wait = xfw_op_like(op);
    xfw_op_take_gap(&wait, op);
    wait.stream = xfw_player_side_stream(player, op->thread, XFW_SIDE_HOST);
    wait.stream_kind = XFW_NONBLOCKING;
    wait.awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, wait.stream, ns);
    xfw_player_play(player, &wait);
}

/* What was in the buffer that the copy fills is done with. */
static void wait_for_buffer(struct worker *worker, struct xfw_player *player, struct xfw_op *op)
{
    if (!worker->waited && worker->jobs >= BUFFERS)
        wait_until(player, op, end_of_job(worker, BUFFERS));
    worker->waited = true;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct workers *state = self;
    bool fetches = op->what == XFW_COPY && op->class != XFW_NONE &&
                   xfw_set_has(&change->set, op->class) && xfw_player_take(player, op);
    if (xfw_player_certainty(player) < change->from && !change->assured)
        return;
    struct worker *worker = xfa_table_get(&state->workers, &op->thread);
    bool waits = worker && xfw_fetched_awaits(&worker->fetched, op);
    if (worker && worker->fetched.there)
        hand_over(worker, player, op, part_of(change, player));
    if (worker)
        worker->fetched.there = false;
    if (fetches) {
        worker = xfa_table_put(&state->workers, &op->thread);
        wait_for_buffer(worker, player, op);
        xfw_fetched_copy(&worker->fetched, op);
    } else if (waits) {
        worker->fetched.under_way = false;
        worker->fetched.there = true;
    } else if (worker && op->what == XFW_HOST_FUNCTION) {
        worker->fetched.under_way = false; /* which gives what was brought to another thread */
    } else if (worker && xfw_op_is_work(op) && op->what != XFW_COPY) {
        worker->fetched.count = 0;
    }
    if (worker && xfw_op_is_of_span(op))
        worker->behind_ns = 0;
    if (worker)
        worker->last = xfw_op_like(op);
}

/* The process ends when its workers are done; and the span, when they are done with what was of it
 * before. */
static void finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct workers *state = self;
    (void)change;
    for (size_t i = 0; i < state->workers.count; i++) {
        struct worker *worker = xfa_table_at(&state->workers, i);
        if (worker->jobs == 0)
            continue;
        xfw_player_span_until(player, end_of_job(worker, 1) - worker->behind_ns);
        wait_until(player, &worker->last, end_of_job(worker, 1));
    }
}

struct xfw_change *xfw_change_work_beside(const struct xfa_analysis *analysis,
                                          struct xfw_set *classes, double part, bool likely)
{
    static const struct xfw_change_type type = {
        .name = "work beside",
        .by_ops = true,
        .state_bytes = sizeof(struct workers),
        .begin = begin,
        .op = op,
        .finish = finish,
        .end = end,
    };
    struct work_beside *beside = xfw_change_new(sizeof *beside, &type, analysis, classes);
    beside->part = part;
    beside->change.shares = XFW_TAKES;
    beside->change.least_part = XFW_TURNS_LEAST;
    beside->change.of_span = beside->change.beyond_set = true;
    beside->change.from = likely ? XFW_LIKELY : XFW_HIGH;
    beside->change.doubted = true; /* how much of the time goes */
    return &beside->change;
}
