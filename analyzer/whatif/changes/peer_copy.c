#include <stdio.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/for_host.h"
#include "xferscope/trace.h"

#define PENDING 64  /* copies down whose copy up has not come */
#define STREAMS 16  /* that copies go up in, by turns */
#define WAY_NS 2000 /* a guess: a thread that waits so soon has only come to that */

struct peer_copy {
    struct xfw_change change;
    const struct xfw_marks *down, *up;
};

struct pending {
    uint64_t address, work; /* work: of its GPU before it */
    uint32_t event;         /* behind that work; an earlier one's, if nothing came between */
    uint32_t own, stream;   /* own: its place's; 0: none yet */
    int16_t gpu;
    bool there;
};

/* What a stream has waited for: another GPU's work, up to some. */
struct seen {
    uint32_t stream;
    int16_t gpu, of;
    uint64_t work;
    bool there;
};

struct state {
    struct pending pending[PENDING]; /* a ring */
    unsigned next;
    struct seen seen[STREAMS]; /* a ring */
    unsigned next_seen;
    uint64_t work[XFW_GPUS], of_any; /* kernels, copies and the like so far that stay; of any:
                                        of which the GPU is not known */
    struct xfw_for_host host;
    struct xfw_op gone; /* the last wait that went, unless one stayed behind it */
};

/* ---- what it takes --------------------------------------------------------------------------- */

static const struct xfp_path *direct_path(const struct xfp_profile *profile, int from, int to)
{
    static const char with[] = "copy/peer/";
    struct xfp_place src = {XFT_MEM_DEVICE, from, -1}, dst = {XFT_MEM_DEVICE, to, -1};
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, src, dst, false);
    return path && strncmp(path->name, with, sizeof with - 1) == 0 ? path : NULL;
}

struct xfw_peer_cost xfw_peer_cost(const struct xfa_achievable *achievable, int from, int to,
                                   uint64_t bytes, enum xfw_certainty certainty)
{
    struct xfw_peer_cost cost = {0};
    if (!achievable->profile || from < 0 || to < 0)
        return cost;
    from = xfa_achievable_gpu(achievable, from);
    to = xfa_achievable_gpu(achievable, to);
    struct xfw_copy_cost direct =
        xfw_copy_cost(direct_path(achievable->profile, from, to), bytes, certainty);
    if (direct.known)
        return (struct xfw_peer_cost){.known = true,
                                      .ns = direct.device_ns,
                                      .submit_ns = direct.submit_ns,
                                      .lead_ns = direct.lead_ns};
    const struct xfp_staged *staged = xfp_find_staged(achievable->profile, from, to);
    const struct xfp_staged_point *point = staged ? xfp_staged_at(staged, bytes) : NULL;
    if (!point || !(point->adaptive_ns > 0) || bytes < point->bytes)
        return cost; /* smaller than any: not measured */
    return (struct xfw_peer_cost){
        .known = true,
        .staged = true,
        .ns = point->adaptive_ns * (double)bytes / (double)point->bytes,
        .buffers = point->buffers,
        .buffer_bytes = point->buffer_bytes,
    };
}

/* ---- the change ------------------------------------------------------------------------------ */

/* All that may have been the GPU's. */
static uint64_t work_of(const struct state *state, int gpu)
{
    return state->work[xfw_place_of_gpu(gpu)] + state->of_any;
}

static void count_work(struct state *state, const struct xfw_op *op)
{
    uint64_t *count = op->gpu < 0 ? &state->of_any : &state->work[xfw_place_of_gpu(op->gpu)];
    *count += xfw_op_is_work(op);
}

/* The last copy down of the GPU, if it has had no other work since; NULL. */
static const struct pending *same_work(const struct state *state, const struct xfw_op *op)
{
    const struct pending *last = &state->pending[(state->next + PENDING - 1) % PENDING];
    bool same = last->there && last->gpu == op->gpu && last->stream == op->stream &&
                last->work == work_of(state, op->gpu);
    return same ? last : NULL;
}

static void go_down(const struct peer_copy *copy, struct state *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &copy->change.analysis->achievable;
    const struct pending *same =
        xfw_player_certainty(player) == XFW_LOW ? NULL : same_work(state, op);
    struct pending *pending = &state->pending[state->next];
    uint32_t own = same || pending->own ? pending->own : xfw_player_side_event(player);
    *pending = (struct pending){.address = op->dst,
                                .work = work_of(state, op->gpu),
                                .event = same ? same->event : own,
                                .own = own,
                                .stream = op->stream,
                                .gpu = op->gpu,
                                .there = true};
    state->next = (state->next + 1) % PENDING;
    bool stays = op->awaits != XFW_AWAITS_NOTHING && xfw_for_host_stays(&state->host, op);
    xfw_op_drop(op);
    if (!same) {
        op->what = XFW_RECORD;
        op->event = pending->event;
        op->own_ns = xfw_scalar_cost(achievable, "event/record", op->gpu, XFW_RECORD_NS);
    }
    if (!stays)
        return;
    struct xfw_op wait = xfw_op_like(op);
    xfw_only_wait(achievable, &wait);
    xfw_player_play_behind(player, &wait);
}

static struct pending *pending_at(struct state *state, uint64_t address)
{
    for (unsigned i = 1; i <= PENDING; i++) { /* the newest first */
        struct pending *pending = &state->pending[(state->next + PENDING - i) % PENDING];
        if (pending->there && pending->address == address)
            return pending;
    }
    return NULL;
}

/* Still through the host, but through a ring of buffers: the host is busy with it. */
static void go_staged(struct xfw_op *op, double ns)
{
    op->awaits = XFW_AWAITS_ITSELF;
    op->latency_ns = op->wake_ns = 0;
    op->duration_ns = ns;
    op->own_ns = 0;
}

/* How much later work begins that waits for an event of another GPU. Where the profile has no
 * figure, a guess for all (two H200s began kernels 6 to 15 us behind the copies that they waited
 * for). */
static double across_ns(const struct xfa_achievable *achievable, int from, int to,
                        enum xfw_certainty certainty)
{
    static const double guesses[] = {[XFW_LOW] = 15000, [XFW_LIKELY] = 8000, [XFW_HIGH] = 2000};
    char what[48];
    from = xfa_achievable_gpu(achievable, from);
    to = xfa_achievable_gpu(achievable, to);
    snprintf(what, sizeof what, "event/across/gpu%d-gpu%d", from < to ? from : to,
             from < to ? to : from);
    const struct xfp_scalar *scalar = xfp_find_scalar(achievable->profile, what);
    return scalar ? xfw_cost_by(&scalar->cost, certainty) : guesses[certainty];
}

/* From the work before it in its stream to its start is in the profile's time; the space of another
 * engine says nothing of it. */
static void go_directly(struct xfw_op *op, const struct xfw_peer_cost *cost, double across)
{
    op->space_ns = across;
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = cost->submit_ns;
    op->wake_ns = 0;
    op->duration_ns = cost->ns;
    op->engine = XFW_PEER;
    op->exclusive = false;
}

/* One event stands for all copies between which the GPU that they come from has no other work. */
static bool has_seen(struct state *state, const struct xfw_op *op, const struct pending *pending)
{
    struct seen *seen = NULL;
    for (unsigned i = 0; i < STREAMS; i++)
        if (state->seen[i].there && state->seen[i].stream == op->stream &&
            state->seen[i].gpu == op->gpu && state->seen[i].of == pending->gpu)
            seen = &state->seen[i];
    bool known = seen && seen->work == pending->work;
    if (!seen) {
        seen = &state->seen[state->next_seen];
        state->next_seen = (state->next_seen + 1) % STREAMS;
    }
    *seen = (struct seen){.stream = op->stream,
                          .gpu = op->gpu,
                          .of = pending->gpu,
                          .work = pending->work,
                          .there = true};
    return known;
}

static void wait_for(const struct peer_copy *copy, const struct pending *pending,
                     struct xfw_player *player, struct xfw_op *op)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.what = XFW_WAIT;
    wait.event = pending->event;
    xfw_op_take_gap(&wait, op);
    wait.own_ns =
        xfw_scalar_cost(&copy->change.analysis->achievable, "event/wait", op->gpu, XFW_WAIT_NS);
    xfw_player_play(player, &wait);
}

static void go_up(const struct peer_copy *copy, struct state *state, struct xfw_player *player,
                  struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &copy->change.analysis->achievable;
    struct pending *pending = pending_at(state, op->src);
    struct xfw_peer_cost cost = pending ? xfw_peer_cost(achievable, pending->gpu, op->gpu,
                                                        op->bytes, xfw_player_certainty(player))
                                        : (struct xfw_peer_cost){0};
    if (!cost.known || !xfw_player_take(player, op))
        return;
    bool seen = has_seen(state, op, pending) && xfw_player_certainty(player) != XFW_LOW;
    if (seen)
        cost.ns -= cost.lead_ns; /* it queues behind the one before */
    else
        wait_for(copy, pending, player, op);
    if (cost.staged)
        go_staged(op, cost.ns);
    else
        go_directly(
            op, &cost,
            seen ? 0 : across_ns(achievable, pending->gpu, op->gpu, xfw_player_certainty(player)));
}

static bool goes(const struct peer_copy *copy, uint32_t process, const struct xfw_op *op)
{
    return op->what == XFW_COPY && (xfw_marked(copy->down, process, op->transfer) ||
                                    xfw_marked(copy->up, process, op->transfer));
}

static void leave_out(struct state *state, struct xfw_op *op)
{
    state->gone = xfw_op_like(op);
    state->gone.what = XFW_CALL;
    state->gone.kind = op->kind;
    state->gone.awaits = op->awaits;
    state->gone.event = op->event;
    xfw_op_drop(op);
    if (op->gap_ns <= WAY_NS)
        op->gap_ns = 0;
}

static void change_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct peer_copy *copy = (const struct peer_copy *)change;
    struct state *state = self;
    const struct xfw_op recorded = *op;
    uint32_t process = xfw_player_process(player)->number;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    bool gone = goes(copy, process, op);
    xfw_for_host_op(&state->host, change, player, op, gone);
    if (!gone)
        count_work(state, op);
    if (op->what == XFW_COPY && xfw_marked(copy->down, process, op->transfer) &&
        xfw_player_take(player, op))
        go_down(copy, state, player, op);
    else if (op->what == XFW_COPY && xfw_marked(copy->up, process, op->transfer))
        go_up(copy, state, player, op);
    else if (op->kind == XFT_EVENT_SYNC && certainty != XFW_LOW &&
             xfw_for_host_needless(&state->host, op, certainty == XFW_HIGH))
        leave_out(state, op);
    else if (op->kind == XFT_EVENT_SYNC)
        state->gone.kind = XFT_EVENT_NONE;
    xfw_for_host_waited(&state->host, &recorded);
}

/* The process does not end before the work that nobody has waited for since. */
static void finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct state *state = self;
    (void)change;
    if (state->gone.kind == XFT_EVENT_SYNC)
        xfw_player_play(player, &state->gone);
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_for_host_free(&((struct state *)self)->host);
}

struct xfw_change *xfw_change_peer_copy(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *down, const struct xfw_marks *up)
{
    static const struct xfw_change_type type = {.name = "peer copy",
                                                .state_bytes = sizeof(struct state),
                                                .op = change_op,
                                                .finish = finish,
                                                .end = end};
    struct peer_copy *copy = xfw_change_new(sizeof *copy, &type, analysis, NULL);
    copy->change.shares = XFW_TAKES;
    copy->down = down;
    copy->up = up;
    return &copy->change;
}
