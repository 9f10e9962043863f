#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/cached.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/spending.h"

#define MOST_LATENCY_NS 5000.0   /* of a copy or memset on an idle device: a guess */
#define MOST_SPACE_NS 1500.0     /* of the same behind other work: a guess */
#define FIRST_SPACE_NS 1000.0    /* of kernels, until some were seen: a guess */
#define COMPARE_NS_PER_BYTE 0.25 /* of what is fetched and compared: 4 GB/s */
#define APPLIED_WORTH 0.8        /* of the call's time: apply rests where hashing takes more */
#define LEAST_HASHED 65536u      /* bytes: of less it is not known whether they are the same */
#define OF_A_COPY 0.5            /* of its time a memset takes: it moves half the bytes */

struct leave_out {
    struct xfw_change change;
    struct xfw_leave_out what;
};

struct stream {
    uint8_t last; /* enum xfw_engine of its last work, as recorded */
    bool changed; /* that copy went */
    bool went;    /* since the last wait for it copies went */
    bool busy;    /* and other work was submitted */
};

/* The thread's own time before copies that go, if all that it sends behind that go. */
struct making {
    bool open, goes;    /* the time was right before a copy; a copy goes */
    uint32_t class;     /* of that */
    double ns;          /* the time */
    double needless_ns; /* such time that is to be taken from the thread's times to come */
};

struct state {
    struct xfa_achievable_path path; /* copies within the GPU asked for last */
    int gpu;
    bool asked;
    struct stream *streams; /* by number */
    size_t count, capacity;
    double space_ns;   /* usual of late between kernels of a stream; 0 = there were none */
    double *staged_ns; /* of the threads' own time, gone so far, by class of the copies */
    size_t staged_count, staged_capacity;
    struct making *making; /* by thread */
    size_t making_count, making_capacity;
    struct xfw_cached beside;     /* of copies that went: the thread's own time is to come */
    struct xfw_spending spending; /* by apply */
};

static bool marked(const struct leave_out *change, const struct xfw_marks *marks,
                   const struct xfw_player *player, const struct xfw_op *op)
{
    uint32_t process = xfw_player_process(player)->number;
    enum xfw_certainty upto = change->change.assured ? XFW_HIGH : xfw_player_certainty(player);
    if (change->what.at_best && upto != XFW_HIGH)
        return false;
    for (int c = 0; c <= (int)upto && marks; c++)
        if (xfw_marked(&marks[c], process, op->transfer))
            return true;
    return false;
}

static struct xfa_achievable_path *path_within(struct state *state,
                                               const struct xfa_analysis *analysis, int gpu)
{
    if (!state->asked || state->gpu != gpu)
        xfa_achievable_path(&state->path, &analysis->achievable, XFT_DIR_D2D, gpu, gpu);
    state->asked = true;
    state->gpu = gpu;
    return &state->path;
}

bool xfw_leave_out_knows(const struct xfa_analysis *analysis, int gpu)
{
    struct state state = {0};
    return path_within(&state, analysis, gpu)->path_count > 0;
}

/* ---- what follows in the stream -------------------------------------------------------------- */

static struct stream *stream_of(struct state *state, uint32_t number)
{
    state->streams =
        xfa_grown(state->streams, &state->capacity, &state->count, number, sizeof *state->streams);
    return &state->streams[number];
}

/* A kernel begins later behind the copy engine's work than behind that of its own. Streams that
 * other changes made up are not of interest: what follows in them is not what was recorded. */
static void follow(struct state *state, struct xfw_op *op, bool goes)
{
    if (op->stream >= XFW_FIRST_SIDE_STREAM)
        return;
    struct stream *stream = stream_of(state, op->stream);
    bool computes = op->what == XFW_KERNEL || op->what == XFW_SET;
    if (computes && stream->changed) {
        double usual = state->space_ns > 0 ? state->space_ns : FIRST_SPACE_NS;
        op->space_ns = xfw_min(op->space_ns, usual);
    } else if (computes && stream->last == XFW_COMPUTE && op->space_ns > 0) {
        double known = state->space_ns > 0 ? state->space_ns : op->space_ns;
        state->space_ns = known + (xfw_min(op->space_ns, 4 * known) - known) / 8;
    }
    stream->last = op->engine;
    stream->changed = goes;
}

/* ---- waits for copies that go ---------------------------------------------------------------- */

static void waited_for(struct stream *stream)
{
    stream->went = stream->busy = false;
}

/* Nothing but copies that went was submitted, since the last wait, to what it waits for. */
static bool waits_for_what_went(struct state *state, const struct xfw_op *op)
{
    bool went = false, busy = false;
    if (op->awaits == XFW_AWAITS_STREAM && op->stream < XFW_FIRST_SIDE_STREAM) {
        struct stream *stream = stream_of(state, op->stream);
        went = stream->went;
        busy = stream->busy;
        waited_for(stream);
    }
    for (size_t i = 0; i < state->count && op->awaits == XFW_AWAITS_DEVICE; i++) {
        went = went || state->streams[i].went;
        busy = busy || state->streams[i].busy;
        waited_for(&state->streams[i]);
    }
    return went && !busy;
}

/* Of the work before op, which goes or stays, and of op. */
static void note_work(struct state *state, const struct xfw_op *op, bool goes)
{
    if (op->stream >= XFW_FIRST_SIDE_STREAM)
        return;
    struct stream *stream = stream_of(state, op->stream);
    stream->went = stream->went || goes;
    stream->busy = stream->busy || !goes;
    if (op->awaits == XFW_AWAITS_ITSELF && !goes)
        waited_for(stream);
}

/* ---- in their place -------------------------------------------------------------------------- */

/* The device does it instead: by a copy, or by a memset. */
static void work_instead(const struct leave_out *change, struct xfa_achievable_path *path,
                         enum xfw_certainty certainty, struct xfw_op *op)
{
    const struct xfa_analysis *analysis = change->change.analysis;
    struct xfp_estimate estimate = xfa_achievable_time(path, op->bytes);
    bool set = change->what.set, waits = certainty == XFW_LOW && op->awaits != XFW_AWAITS_NOTHING;
    double submit = set ? NAN : xfa_achievable_submit(path, op->bytes);
    if (estimate.basis == XFP_UNKNOWN)
        return;
    op->what = set ? XFW_SET : XFW_COPY;
    op->engine = XFW_COMPUTE;
    op->exclusive = false;
    op->duration_ns = xfw_as_sure(estimate.ns, estimate.error, certainty);
    if (set && certainty != XFW_LOW)
        op->duration_ns *= OF_A_COPY;
    op->own_ns = isnan(submit) ? xfw_scalar_cost(&analysis->achievable, "launch/kernel", op->gpu,
                                                 XFW_SUBMIT_NS)
                               : submit;
    op->latency_ns = xfw_min(op->latency_ns, MOST_LATENCY_NS);
    op->space_ns = xfw_min(op->space_ns, MOST_SPACE_NS);
    op->awaits = waits ? XFW_AWAITS_ITSELF : XFW_AWAITS_NOTHING;
    op->wake_ns =
        waits ? xfw_scalar_cost(&analysis->achievable, "sync/stream", op->gpu, XFW_SYNC_STREAM_NS)
              : 0;
}

static void add_staged(struct state *state, uint32_t class, double ns)
{
    state->staged_ns = xfa_grown(state->staged_ns, &state->staged_capacity, &state->staged_count,
                                 class, sizeof *state->staged_ns);
    state->staged_ns[class] += ns;
}

/* A thread that was woken, and whose first call then is a copy to the device, may have prepared
 * only that copy: XLA's threads bring an array into pinned memory first. */
static void without_staging(struct state *state, struct xfw_op *op)
{
    bool woken = (op->woken_by_stream && !op->for_job) || op->woken_by != XFW_NONE;
    bool begun = op->gap_ns > 0;
    if (!woken || !begun || op->woken_after_ns <= 0)
        return;
    add_staged(state, op->class, op->woken_after_ns);
    op->woken_after_ns = 0;
}

/* What need not be sent need not be made, either: at best that is the thread's own time right
 * before it, if it sends nothing else, from then until its next time of its own. That is known
 * behind it only: so much of its later times goes. */
static void without_making(struct state *state, struct xfw_op *op, bool goes)
{
    state->making = xfa_grown(state->making, &state->making_capacity, &state->making_count,
                              op->thread, sizeof *state->making);
    struct making *making = &state->making[op->thread];
    bool up = op->what == XFW_COPY && op->engine == XFW_TO_DEVICE;
    bool unseen = up && op->bytes < LEAST_HASHED;
    if (op->gap_ns > XFW_BUSY_NS) {
        if (making->open && making->goes) {
            making->needless_ns += making->ns;
            add_staged(state, making->class, making->ns);
        }
        making->open = goes || unseen;
        making->goes = false;
        making->ns = op->gap_ns;
    }
    if (goes) {
        making->goes = true;
        making->class = op->class;
    } else if (up && !unseen) {
        making->open = false;
    }
    double ns = xfw_min(making->needless_ns, op->gap_ns);
    op->gap_ns -= ns;
    making->needless_ns -= ns;
}

/* By apply: which copies it may leave out, and what of them it copies. */
static uint64_t applied_head(const struct xfa_analysis *analysis, const struct xfw_op *op)
{
    bool waits = op->awaits == XFW_AWAITS_ITSELF || op->bytes <= XFW_APPLIED_AT_ONCE;
    uint64_t head = waits ? XFW_APPLIED_COPIED : XFW_APPLIED_COPIED_AHEAD;
    bool pageable =
        xfa_class_key_at(&analysis->classes, op->class)->row.src_mem == XFT_MEM_PAGEABLE;
    return pageable && op->bytes >= XFW_APPLIED_LEFT_OUT && op->bytes >= 2 * head ? head : 0;
}

/* By apply: the source is hashed where that may be spent, and the first bytes are copied, by the
 * same call. Where hashing takes about as long as the call, it is left as asked. A call that waits
 * for the start of its copy takes part in it from then on. */
static void shorten(struct xfw_spending *spending, enum xfw_certainty certainty, bool same,
                    uint64_t head, struct xfw_op *op)
{
    static const double hash_ns_per_byte[] = {
        [XFW_LOW] = 0.1, [XFW_LIKELY] = XFW_READ_NS_PER_BYTE, [XFW_HIGH] = 0};
    double left = 1 - (double)head / (double)op->bytes;
    double copying = xfw_max(0, op->own_ns - XFW_SUBMIT_NS); /* the driver, of pageable memory */
    struct xfw_upload_costs costs = {.asked = xfw_op_took(op),
                                     .hash = hash_ns_per_byte[certainty] * (double)op->bytes,
                                     .compare = COMPARE_NS_PER_BYTE * (double)op->bytes};
    if (costs.hash > APPLIED_WORTH * costs.asked)
        return;
    enum xfw_spent spent = xfw_spending_on(spending, op, same, &costs);
    op->gap_ns += spent == XFW_AS_ASKED ? 0 : costs.hash;
    op->gap_ns += spent == XFW_COMPARED ? costs.compare : 0;
    if (spent != XFW_COMPARED && spent != XFW_LEFT_OUT)
        return;
    op->own_ns -= left * copying;
    if (op->awaits == XFW_AWAITS_ITS_START)
        op->wake_ns = xfw_max(0, op->wake_ns - left * op->duration_ns);
    op->duration_ns *= 1 - left;
    op->bytes = head;
}

/* Each op that matters, before what goes does. goes: it does, for its contents, or as what one of
 * these was for does (also). */
static void meet(const struct xfw_leave_out *what, struct state *state,
                 enum xfw_certainty certainty, struct xfw_op *op, bool goes, bool also)
{
    /* What is not taken through the host is not waited for there; of others the wait may be meant.
     */
    bool needless = op->kind == XFT_EVENT_SYNC && waits_for_what_went(state, op);
    if (needless && what->also && certainty != XFW_LOW)
        xfw_op_drop(op);
    if (xfw_op_is_work(op))
        note_work(state, op, goes || also);
    if (op->engine != XFW_NO_ENGINE)
        follow(state, op, goes || also);
    xfw_cached_take(&state->beside, op);
    if (certainty == XFW_HIGH && what->made)
        without_making(state, op, goes);
}

/* A copy of a class. */
XFW_RARE static void meet_copy(const struct leave_out *change, struct state *state,
                               const struct xfw_player *player, struct xfw_op *op)
{
    const struct xfw_change *self = &change->change;
    const struct xfw_leave_out *what = &change->what;
    struct xfw_cached *beside = &state->beside;
    uint32_t process = xfw_player_process(player)->number;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    bool chosen = xfw_set_has(&self->set, op->class);
    bool goes = chosen && marked(change, what->marks, player, op);
    bool also = !goes && marked(change, what->also, player, op);
    bool copied = goes && what->copied && xfw_marked(what->copied, process, op->transfer);
    if (what->by_apply) {
        uint64_t head = chosen ? applied_head(self->analysis, op) : 0;
        if (head)
            shorten(&state->spending, certainty, goes, head, op);
        return;
    }
    meet(what, state, certainty, op, goes, also);
    if (!goes && !also)
        return;
    if (certainty == XFW_HIGH && !what->set && op->awaits == XFW_AWAITS_NOTHING &&
        op->engine != XFW_COMPUTE)
        /* It took memory bandwidth from the host, and the lines that it has written from its
         * caches: how much, no record shows. */
        *xfw_cached_of(beside, op->thread) += op->duration_ns;
    if (certainty == XFW_HIGH && op->engine == XFW_TO_DEVICE && !what->set)
        without_staging(state, op);
    if ((copied && certainty != XFW_HIGH) || (goes && what->set))
        work_instead(change, path_within(state, self->analysis, op->gpu), certainty, op);
    else if (certainty == XFW_LOW && op->awaits != XFW_AWAITS_NOTHING)
        xfw_only_wait(&self->analysis->achievable, op);
    else
        xfw_op_drop(op);
}

/* Does a call that copies nothing matter? At best any does, for the thread's own time before it. */
static bool matters(const struct xfw_op *op, enum xfw_certainty certainty)
{
    return certainty == XFW_HIGH || op->engine != XFW_NO_ENGINE || op->kind == XFT_EVENT_SYNC ||
           xfw_op_is_work(op);
}

/* Most ops do not matter, and take a few instructions. */
static void leave_out(const struct xfw_change *self, void *state, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct leave_out *change = (const struct leave_out *)self;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->what == XFW_COPY && op->class != XFW_NONE)
        meet_copy(change, state, player, op);
    else if (!change->what.by_apply && matters(op, certainty))
        meet(&change->what, state, certainty, op, false, false);
}

/* What a change takes must not depend on how often it is played, nor on how much is left out. */
static void finish(const struct xfw_change *self, void *of, struct xfw_player *player)
{
    const struct state *state = of;
    double all = 0;
    for (size_t i = 0; i < state->staged_count; i++)
        all += state->staged_ns[i] * xfw_player_weight(player, (uint32_t)i);
    *self->staged_ns = xfw_max(*self->staged_ns, all);
}

static void end(const struct xfw_change *self, void *of)
{
    struct state *state = of;
    (void)self;
    xfw_cached_free(&state->beside);
    xfw_spending_free(&state->spending);
    free(state->staged_ns);
    free(state->streams);
    free(state->making);
}

static void begin(const struct xfw_change *self, void *of, struct xfw_player *player)
{
    (void)self, (void)player;
    xfw_spending_init(&((struct state *)of)->spending);
}

static void release(struct xfw_change *self)
{
    free(self->staged_ns);
}

struct xfw_change *xfw_change_leave_out(const struct xfa_analysis *analysis,
                                        const struct xfw_leave_out *what)
{
    static const struct xfw_change_type type = {
        .name = "leave out",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = leave_out,
        .finish = finish,
        .end = end,
        .free = release,
    };
    struct xfw_set classes = what->classes;
    struct leave_out *change = xfw_change_new(sizeof *change, &type, analysis, &classes);
    change->what = *what;
    change->change.first = true; /* others have what is left */
    change->change.leaves_out = true;
    change->change.staged_ns = xfa_alloc(sizeof *change->change.staged_ns);
    return &change->change;
}

/* ---- graphs without copies ------------------------------------------------------------------- */

struct shorter_graphs {
    struct xfw_change change;
    struct xfw_shorter_graph *graphs;
    size_t count;
};

static void shorten_graph(const struct xfw_change *change, void *self, struct xfw_player *player,
                          struct xfw_op *op)
{
    const struct shorter_graphs *shorter = (const struct shorter_graphs *)change;
    bool **seen = self;
    bool all = change->assured || xfw_player_certainty(player) == XFW_HIGH;
    if (op->what != XFW_GRAPH || !xfw_set_has(&change->set, op->site))
        return;
    if (!*seen)
        *seen = xfa_alloc((shorter->count + 1) * sizeof **seen);
    for (size_t i = 0; i < shorter->count; i++) {
        if (shorter->graphs[i].site != op->site)
            continue;
        if (all && (*seen)[i])
            op->duration_ns = xfw_max(0, op->duration_ns - shorter->graphs[i].ns);
        (*seen)[i] = true; /* the first one's copies stay */
    }
}

static void end_graphs(const struct xfw_change *change, void *self)
{
    (void)change;
    free(*(bool **)self);
}

static void release_graphs(struct xfw_change *change)
{
    free(((struct shorter_graphs *)change)->graphs);
}

struct xfw_change *xfw_change_shorter_graphs(const struct xfa_analysis *analysis,
                                             const struct xfw_shorter_graph *graphs, size_t count)
{
    static const struct xfw_change_type type = {.name = "shorter graphs",
                                                .state_bytes = sizeof(bool *),
                                                .op = shorten_graph,
                                                .end = end_graphs,
                                                .free = release_graphs};
    struct xfw_set sites = {0};
    for (size_t i = 0; i < count; i++)
        xfw_set_add(&sites, graphs[i].site);
    struct shorter_graphs *change = xfw_change_new(sizeof *change, &type, analysis, &sites);
    change->graphs = xfa_alloc((count + 1) * sizeof *graphs);
    memcpy(change->graphs, graphs, count * sizeof *graphs);
    change->count = count;
    change->change.leaves_out = true;
    change->change.from = XFW_HIGH;
    return &change->change;
}
