#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_USES 64  /* of memory, that are remembered: the last, of devices and of the host */
#define MOST_SPANS 16 /* of one piece of work */
#define MOST_THREADS 64

struct span {
    uint64_t first, end;
    bool given; /* a pointer that a kernel was given; else a copy's or a memset's */
    bool read;  /* by a copy: not changed */
    bool host;  /* memory of it */
};

struct use {
    struct span span;
    bool legacy;              /* of the default stream */
    uint32_t stream;          /* where it was played */
    double called_ns, end_ns; /* of the schedule */
};

struct own_streams {
    struct xfw_change change;
    bool per_thread;
};

struct uses {
    struct use ring[MOST_USES]; /* each of another memory or stream */
    unsigned count;
};

struct state {
    struct uses uses[2];          /* [1]: of memory of the host, where each round may use other
                                     places: nobody waits for what fell out of it */
    double forgotten_ns[2];       /* when the last that fell out of the other one was done; [1]: of
                                     the default stream's */
    struct span last[MOST_SPANS]; /* what the op before uses: its end is known now */
    unsigned last_count;
    uint32_t last_stream;
    bool last_legacy;
    double last_called_ns;
    bool begun;
    uint32_t thread; /* the first that used the default stream */
    struct user {
        uint32_t thread, stream; /* where its work of the default stream goes */
        bool others;             /* it uses other streams as well */
    } users[MOST_THREADS];
    unsigned user_count;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void add(struct span spans[MOST_SPANS], unsigned *count, struct span span)
{
    if (*count == MOST_SPANS)
        spans[0] = (struct span){.first = 0, .end = UINT64_MAX};
    else if (span.first < span.end)
        spans[(*count)++] = span;
}

static struct span copied(const struct xfw_op *op, uint64_t first, bool read)
{
    return (struct span){
        .first = first,
        .end = xfa_add(first, op->bytes),
        .read = read,
        .host = op->engine == (read ? XFW_TO_DEVICE : XFW_TO_HOST),
    };
}

/* A kernel of which it is not known what it was given, and a graph, may use all memory. */
static unsigned used_by(const struct xfw_player *player, const struct xfw_op *op,
                        struct span spans[MOST_SPANS])
{
    unsigned count = 0;
    uint64_t pointer;
    if (op->what == XFW_COPY)
        add(spans, &count, copied(op, op->src, true));
    if (op->what == XFW_COPY || op->what == XFW_SET)
        add(spans, &count, copied(op, op->dst, false));
    for (uint32_t k = 0; op->what == XFW_KERNEL &&
                         xfw_launch_pointer(xfw_player_process(player), op->arguments, k, &pointer);
         k++)
        add(spans, &count,
            (struct span){.first = pointer, .end = xfa_add(pointer, 1), .given = true});
    if (count == 0)
        add(spans, &count, (struct span){.first = 0, .end = UINT64_MAX});
    return count;
}

/* Of kernels that one of the default stream's threads was given, and another one: what they did was
 * in order, and may have to be. */
static bool conflict(const struct span *a, const struct span *b, bool threads)
{
    return a->first < b->end && b->first < a->end && !(a->read && b->read) &&
           (threads || !(a->given && b->given));
}

/* The same use again: of a stream, whose work is done in order. */
static struct use *last_use(struct state *state, const struct span *span)
{
    struct uses *uses = &state->uses[span->host];
    for (unsigned i = 0; i < MOST_USES && i < uses->count; i++) {
        struct use *use = &uses->ring[i];
        if (use->span.first == span->first && use->span.end == span->end &&
            use->span.given == span->given && use->span.read == span->read &&
            use->stream == state->last_stream && use->legacy == state->last_legacy)
            return use;
    }
    return NULL;
}

/* In the place of the oldest one. */
static struct use *new_use(struct state *state, bool host)
{
    struct uses *uses = &state->uses[host];
    struct use *use = &uses->ring[uses->count++ % MOST_USES];
    double *forgotten = &state->forgotten_ns[use->legacy];
    if (!host)
        *forgotten = fmax(*forgotten, use->end_ns);
    return use;
}

static void note_end(struct state *state, const struct xfw_player *player)
{
    double end = state->last_count ? xfw_player_work_end(player, state->last_stream) : 0;
    for (unsigned i = 0; i < state->last_count; i++) {
        struct use *use = last_use(state, &state->last[i]);
        if (!use)
            use = new_use(state, state->last[i].host);
        *use = (struct use){state->last[i], state->last_legacy, state->last_stream,
                            state->last_called_ns, end};
    }
    state->last_count = 0;
}

struct work {
    const struct span *spans;
    unsigned count;
    uint32_t stream;
    bool legacy;
    double called_ns;
};

/* When those are over that it has to wait for, if that is later than `after`. */
static double after_uses(const struct own_streams *own, const struct uses *uses,
                         const struct work *work, double after)
{
    for (unsigned i = 0; i < MOST_USES && i < uses->count; i++) {
        const struct use *use = &uses->ring[i];
        const bool both = use->legacy && work->legacy;
        bool apart = use->stream != work->stream && (use->legacy || work->legacy);
        bool first = !(own->per_thread && both) || use->called_ns <= work->called_ns;
        for (unsigned k = 0; k < work->count && apart && first && use->end_ns > after; k++)
            if (conflict(&use->span, &work->spans[k], both))
                after = use->end_ns;
    }
    return after;
}

/* Work of the default stream waits for that of others that uses its memory, and theirs for its; so
 * does that of threads which have it each for itself now. Of threads that go on by themselves now,
 * who comes first may be another one than in the record. */
static void order(const struct own_streams *own, struct state *state, struct xfw_player *player,
                  const struct xfw_op *op, bool legacy)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    const double called = xfw_schedule_thread_now(schedule, op->thread) + op->gap_ns;
    unsigned count = used_by(player, op, state->last);
    double after = state->forgotten_ns[!legacy];
    if (legacy && own->per_thread)
        after = fmax(after, state->forgotten_ns[true]);
    const struct work work = {state->last, count, op->stream, legacy, called};
    for (unsigned host = 0; host < 2; host++)
        after = after_uses(own, &state->uses[host], &work, after);
    state->last_count = count;
    state->last_stream = op->stream;
    state->last_legacy = legacy;
    state->last_called_ns = called;
    if (after > xfw_schedule_stream_end(schedule, op->stream))
        xfw_player_stream_after(player, op->stream, after);
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct user *user_of(struct state *state, uint32_t thread)
{
    for (unsigned i = 0; i < state->user_count; i++)
        if (state->users[i].thread == thread)
            return &state->users[i];
    return NULL;
}

static void note_user(struct state *state, const struct xfw_op *op, bool legacy)
{
    struct user *user = user_of(state, op->thread);
    if (!user && state->user_count < MOST_THREADS) {
        user = &state->users[state->user_count++];
        *user = (struct user){op->thread, XFW_NONE, false};
    }
    if (user && legacy)
        user->stream = op->stream;
    else if (user)
        user->others = true;
}

/* All of its work was in the default stream: the device's wait was one for that, and becomes one
 * for its own stream. */
static void wait_for_own(struct state *state, struct xfw_op *op)
{
    const struct user *user = user_of(state, op->thread);
    if (!user || user->others || user->stream == XFW_NONE)
        return;
    op->awaits = XFW_AWAITS_STREAM;
    op->stream = user->stream;
    op->stream_kind = XFW_NONBLOCKING;
}

/* ---- the change ------------------------------------------------------------------------------ */

static void to_its_own(const struct own_streams *own, struct state *state,
                       struct xfw_player *player, struct xfw_op *op)
{
    if (!state->begun)
        state->thread = op->thread;
    state->begun = true;
    if (!own->per_thread)
        return;
    if (op->overtook) /* what it overtook goes elsewhere; how far behind other work is not known */
        op->space_ns = xfw_min(op->space_ns, op->latency_ns);
    op->overtook = false;
    if (op->thread == state->thread)
        return;
    uint32_t stream = xfw_stream_of_thread(op->thread);
    xfw_player_moved(player, op->stream, stream);
    op->stream = stream;
}

static void own_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                   struct xfw_op *op)
{
    const struct own_streams *own = (const struct own_streams *)change;
    struct state *state = self;
    bool legacy = op->stream_kind == XFW_LEGACY;
    note_end(state, player);
    if (xfw_player_certainty(player) == XFW_LOW)
        return;
    if (own->per_thread && op->kind == XFT_EVENT_SYNC && op->awaits == XFW_AWAITS_DEVICE)
        wait_for_own(state, op);
    if (op->stream == XFW_NONE || op->stream_kind == XFW_NONBLOCKING || xfw_op_is_beside(op)) {
        if (xfw_op_is_work(op))
            note_user(state, op, false);
        return;
    }
    if (op->kind == XFT_EVENT_SYNC) { /* it has waited for all blocking streams, and does */
        if (legacy && op->awaits == XFW_AWAITS_STREAM && own->per_thread)
            to_its_own(own, state, player, op);
        else if (legacy && op->awaits == XFW_AWAITS_STREAM)
            op->awaits = XFW_AWAITS_DEVICE;
        return;
    }
    op->stream_kind = XFW_NONBLOCKING;
    op->was_legacy = legacy;
    if (legacy)
        to_its_own(own, state, player, op);
    if (!xfw_op_is_work(op))
        return;
    note_user(state, op, legacy);
    order(own, state, player, op, legacy);
}

struct xfw_change *xfw_change_own_streams(const struct xfa_analysis *analysis, bool per_thread)
{
    static const struct xfw_change_type type = {
        .name = "own streams", .state_bytes = sizeof(struct state), .op = own_op};
    struct own_streams *own = xfw_change_new(sizeof *own, &type, analysis, NULL);
    own->change.first = true; /* others find the streams as the program would have them */
    own->per_thread = per_thread;
    return &own->change;
}
