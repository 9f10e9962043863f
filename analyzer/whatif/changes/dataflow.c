#include "analyzer/whatif/changes/dataflow.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/asked.h"
#include "analyzer/whatif/changes/both_ways.h"
#include "analyzer/whatif/changes/reuse.h"
#include "analyzer/whatif/changes/spans.h"
#include "xferscope/trace.h"

#define PARTS 16 /* whose ends are remembered: more than XFW_MOST_STREAMS */

/* Copies that do not make the host wait any more, and are not done: for each part under way. More
 * would save nothing, and a program that has waited for its results ends when it has them. */
enum { AHEAD_PER_PART = 4, RUN_AHEAD = AHEAD_PER_PART * XFW_MOST_STREAMS };

/* At best the host reads so slowly: a thread that had less time has not used all of the data. */
#define READ_NS_PER_BYTE_AT_BEST 0.1

/* Streams beside the process's. */
enum side { UP, DOWN, MARK, HOST };

enum step { TO_DEVICE, COMPUTE, TO_HOST };

/* One of the process's streams. */
struct lane {
    bool moved;         /* copies of it have left */
    enum step step;     /* of the part at hand */
    uint64_t part;      /* from 1 on; 0: none has begun */
    double ends[PARTS]; /* a ring */
    double work_end;    /* of kernels and what else is no copy with the host */
};

/* What a thread would have waited for in a copy. */
struct host {
    double until;
    uint64_t bytes;         /* 0 = nothing */
    double ends[RUN_AHEAD]; /* of such copies, a ring */
    uint64_t count;
};

/* What work does with memory. */
struct used {
    uint8_t what, engine; /* enum xfw_what, enum xfw_engine */
    uint64_t src, dst, bytes;
    const struct xfa_arguments *arguments; /* of a kernel; NULL: not known */
};

/* The op that was played last: when it ended is known with the next one. */
struct last {
    struct used used;
    bool there, moved, pends;
    uint32_t lane, stream; /* of the process; where it was played */
    uint32_t thread;
    uint64_t part;
    double duration_ns;
};

struct state {
    struct xfw_spans spans;
    struct lane *lanes;
    size_t lane_count, lane_capacity;
    struct host *hosts;
    size_t host_count, host_capacity;
    struct last last;
    double kernel_start; /* of the kernel that began last */
    struct xfw_both_ways both_ways;
    struct xfw_asked_times asked;
    void *of_first; /* the state of the change that is made first */
};

struct dataflow {
    struct xfw_change change;
    struct xfw_dataflow_terms terms;
    bool implicit_sync, one_engine; /* of any GPU of the profile */
    double event_ns;                /* recording one and waiting for it; the host */
};

static const struct dataflow *of(const struct xfw_change *change)
{
    return (const struct dataflow *)change;
}

static struct lane *lane_of(struct state *state, uint32_t stream)
{
    if (stream >= state->lane_count)
        state->lanes = xfa_grown(state->lanes, &state->lane_capacity, &state->lane_count, stream,
                                 sizeof *state->lanes);
    return &state->lanes[stream];
}

static struct host *host_of(struct state *state, uint32_t thread)
{
    if (thread >= state->host_count)
        state->hosts = xfa_grown(state->hosts, &state->host_capacity, &state->host_count, thread,
                                 sizeof *state->hosts);
    return &state->hosts[thread];
}

static double end_of(struct xfw_player *player, uint32_t stream, enum side side)
{
    return xfw_schedule_stream_end(xfw_player_schedule(player),
                                   xfw_player_side_stream(player, stream, side));
}

/* ---- what ops use ---------------------------------------------------------------------------- */

/* NULL: not known. One that is given no memory at all may use variables of its module. */
static const struct xfa_arguments *arguments_of(struct xfw_player *player, const struct xfw_op *op)
{
    struct xfa_process *process = xfw_player_process(player);
    const struct xfa_arguments *arguments =
        op->what == XFW_KERNEL && op->arguments && process && process->trace
            ? xfa_trace_arguments(process->trace, op->arguments)
            : NULL;
    bool known = arguments && arguments->count > 0 && arguments->count < XFT_ARGUMENTS_MOST;
    return known ? arguments : NULL;
}

static struct used used_by(struct xfw_player *player, const struct xfw_op *op)
{
    return (struct used){op->what, op->engine, op->src,
                         op->dst,  op->bytes,  arguments_of(player, op)};
}

static bool is_copy_with_host(unsigned what, unsigned engine)
{
    return what == XFW_COPY && (engine == XFW_TO_DEVICE || engine == XFW_TO_HOST);
}

/* Until when work that stays in its stream has to wait for copies that have left theirs. */
static struct xfw_given needs(struct state *state, const struct used *used)
{
    struct xfw_given needs = {0, 0};
    if (used->what == XFW_COPY || used->what == XFW_SET) {
        double of_source =
            used->what == XFW_COPY ? xfw_spans_written(&state->spans, used->src, used->bytes) : 0;
        needs.written =
            xfw_max(of_source, xfw_spans_written(&state->spans, used->dst, used->bytes));
        needs.read = xfw_spans_read(&state->spans, used->dst, used->bytes);
        return needs;
    }
    const struct xfa_arguments *arguments = used->arguments;
    if (!arguments)
        return xfw_spans_all(&state->spans);
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct xfw_given given =
            xfw_spans_given(&state->spans, xfa_arguments_pointer(arguments, i));
        needs.written = xfw_max(needs.written, given.written);
        needs.read = xfw_max(needs.read, given.read);
    }
    return needs;
}

static void note_use(struct state *state, const struct used *used, double end)
{
    const struct xfa_arguments *arguments = used->arguments;
    if (is_copy_with_host(used->what, used->engine)) {
        xfw_spans_note_copy(&state->spans, used->src, used->dst, used->bytes,
                            used->engine == XFW_TO_HOST, end);
    } else if (used->what == XFW_COPY || used->what == XFW_SET) {
        if (used->what == XFW_COPY)
            xfw_spans_note_use(&state->spans, used->src, used->bytes, end);
        xfw_spans_note_use(&state->spans, used->dst, used->bytes, end);
    } else if (!arguments) {
        xfw_spans_note_unknown(&state->spans, end);
    } else {
        for (uint32_t i = 0; i < arguments->count; i++)
            xfw_spans_note_kernel(&state->spans, xfa_arguments_pointer(arguments, i), end);
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The part that this belongs to. A memset begins none, and ends none. */
static uint64_t part_of(struct lane *lane, enum step step, bool neutral)
{
    if (neutral && lane->part)
        return lane->part;
    if (!lane->part || step < lane->step)
        lane->ends[++lane->part % PARTS] = 0;
    lane->step = step;
    return lane->part;
}

/* When the part so many before it was done. */
static double part_end(const struct lane *lane, uint64_t part, unsigned before)
{
    return part > before ? lane->ends[(part - before) % PARTS] : 0;
}

/* ---- the op before --------------------------------------------------------------------------- */

static void harvest(struct state *state, const struct xfw_player *player)
{
    struct last *last = &state->last;
    if (!last->there)
        return;
    last->there = false;
    struct lane *lane = lane_of(state, last->lane);
    double end = xfw_schedule_stream_end(xfw_player_schedule(player), last->stream);
    if (last->part) {
        double *of_part = &lane->ends[last->part % PARTS];
        *of_part = xfw_max(*of_part, end);
    }
    note_use(state, &last->used, end);
    if (!last->moved) {
        if (!is_copy_with_host(last->used.what, last->used.engine))
            lane->work_end = xfw_max(lane->work_end, end);
        if (last->used.engine == XFW_COMPUTE)
            state->kernel_start = xfw_max(state->kernel_start, end - last->duration_ns);
    }
    if (last->pends) {
        struct host *host = host_of(state, last->thread);
        host->until = xfw_max(host->until, end);
        host->bytes = xfa_add(host->bytes, last->used.bytes);
        host->ends[host->count++ % RUN_AHEAD] = end;
    }
}

static void wait_until(struct xfw_player *player, const struct xfw_op *op, double ns)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.stream = xfw_player_side_stream(player, 0, HOST);
    wait.stream_kind = XFW_NONBLOCKING;
    wait.awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, wait.stream, ns);
    xfw_player_play(player, &wait);
}

/* The host had time to use what it did not wait for: then it waits. */
static void wait_for_data(struct state *state, struct xfw_player *player, const struct xfw_op *op)
{
    bool at_best = xfw_player_certainty(player) == XFW_HIGH;
    double per_byte = at_best ? READ_NS_PER_BYTE_AT_BEST : XFW_READ_NS_PER_BYTE;
    struct host *host = host_of(state, op->thread);
    if (host->bytes == 0 || op->gap_ns < per_byte * (double)host->bytes)
        return;
    wait_until(player, op, host->until);
    host->bytes = 0;
}

/* Another copy that does not make the host wait. */
static void run_ahead(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                      const struct xfw_op *op)
{
    const struct host *host = host_of(state, op->thread);
    uint64_t most = (uint64_t)AHEAD_PER_PART * flow->terms.buffers;
    if (host->count >= most)
        wait_until(player, op, host->ends[(host->count - most) % RUN_AHEAD]);
}

/* ---- copies that leave ----------------------------------------------------------------------- */

static bool leaves(const struct dataflow *flow, const struct xfw_player *player,
                   const struct xfw_op *op)
{
    if (!is_copy_with_host(op->what, op->engine) || op->stream == XFW_NONE || op->class == XFW_NONE)
        return false;
    const struct xfa_class *class = xfa_class_at(&flow->change.analysis->classes, op->class);
    bool blocks = op->awaits != XFW_AWAITS_NOTHING;
    bool pageable = !flow->terms.first && xfa_row_pageable(&class->key.row);
    if (class->key.shape != XFA_LINEAR || (op->engine == XFW_TO_DEVICE && !flow->terms.to_device))
        return false;
    return !blocks || (!pageable && xfw_player_certainty(player) != XFW_LOW);
}

static void submit(const struct dataflow *flow, struct state *state, struct xfw_op *op)
{
    const double usual = 2000, behind = 1000;
    const struct xfa_class *class = xfa_class_at(&flow->change.analysis->classes, op->class);
    double ns = xfw_asked_time(&state->asked, class, op->bytes)->submit_ns;
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = isnan(ns) ? usual : ns;
    op->wake_ns = 0;
    op->space_ns = xfw_min(behind, op->latency_ns);
}

static void move(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    bool up = op->engine == XFW_TO_DEVICE, blocks = op->awaits != XFW_AWAITS_NOTHING;
    struct lane *lane = lane_of(state, op->stream);
    uint32_t stream = xfw_player_side_stream(player, op->stream, up ? UP : DOWN);
    struct last *last = &state->last;
    *last = (struct last){.used = used_by(player, op),
                          .there = true,
                          .moved = true,
                          .pends = blocks,
                          .lane = op->stream,
                          .stream = stream,
                          .thread = op->thread};
    last->part = part_of(lane, up ? TO_DEVICE : TO_HOST, false);
    double after = up ? xfw_spans_written(&state->spans, op->src, op->bytes)
                      : xfw_spans_computed(&state->spans, op->src, op->bytes, lane->work_end);
    if (!up) {
        after = xfw_max(after, xfw_spans_written(&state->spans, op->src, op->bytes));
        after = xfw_max(after, xfw_spans_read(&state->spans, op->dst, op->bytes));
    }
    after = xfw_max(after, part_end(lane, last->part, flow->terms.buffers));
    if (flow->implicit_sync)
        after = xfw_max(after, state->kernel_start);
    xfw_player_stream_after(player, stream, after);
    if (blocks) {
        run_ahead(flow, state, player, op);
        submit(flow, state, op);
    }
    if (xfw_player_certainty(player) == XFW_LOW)
        op->own_ns += flow->event_ns;
    lane->moved = true;
    xfw_player_moved(player, op->stream, stream);
    op->stream = stream;
    op->stream_kind = XFW_NONBLOCKING;
}

/* For comparison: it does not block, and stays where it is. */
static void unblock(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_NOTHING)
        return;
    run_ahead(flow, state, player, op);
    submit(flow, state, op);
    state->last = (struct last){.used = used_by(player, op),
                                .there = true,
                                .pends = true,
                                .lane = op->stream,
                                .stream = op->stream,
                                .thread = op->thread,
                                .duration_ns = op->duration_ns};
}

/* ---- what stays ------------------------------------------------------------------------------ */

static void stay(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                 const struct xfw_op *op)
{
    struct lane *lane = lane_of(state, op->stream);
    const struct used used = used_by(player, op);
    struct xfw_given wants = needs(state, &used);
    bool copy = is_copy_with_host(op->what, op->engine);
    enum step step = !copy ? COMPUTE : op->engine == XFW_TO_DEVICE ? TO_DEVICE : TO_HOST;
    bool knows = op->what == XFW_KERNEL || copy;
    uint64_t part = part_of(lane, step, op->what == XFW_SET);
    double after = xfw_max(wants.written, part_end(lane, part, flow->terms.buffers));
    if (xfw_player_certainty(player) == XFW_LOW || !knows)
        after = xfw_max(after, wants.read);
    xfw_player_stream_after(player, op->stream, after);
    state->last = (struct last){.used = used,
                                .there = true,
                                .lane = op->stream,
                                .stream = op->stream,
                                .thread = op->thread,
                                .part = part,
                                .duration_ns = op->duration_ns};
}

/* ---- events and waits ------------------------------------------------------------------------ */

/* All that the stream was given so far, whether it has left or not. */
static double all_of(struct xfw_player *player, uint32_t stream)
{
    double end = xfw_schedule_stream_end(xfw_player_schedule(player), stream);
    return xfw_max(end, xfw_max(end_of(player, stream, UP), end_of(player, stream, DOWN)));
}

static void record(struct state *state, struct xfw_player *player, struct xfw_op *op)
{
    if (op->stream == XFW_NONE || !lane_of(state, op->stream)->moved)
        return;
    uint32_t mark = xfw_player_side_stream(player, op->stream, MARK);
    xfw_player_stream_after(player, mark, all_of(player, op->stream));
    op->stream = mark;
}

/* A stream waits: what has left it does, too. */
static void wait_for_event(struct xfw_player *player, const struct xfw_op *op)
{
    for (enum side side = UP; side <= DOWN && op->stream != XFW_NONE; side++) {
        struct xfw_op wait = xfw_op_like(op);
        wait.what = XFW_WAIT;
        wait.event = op->event;
        wait.stream = xfw_player_side_stream(player, op->stream, side);
        xfw_player_play(player, &wait);
    }
}

/* At best the host waits for parts that are as far back as there are buffers. */
static void wait_later(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    double until = 0;
    bool moved = false;
    for (size_t i = 0; i < state->lane_count; i++) {
        const struct lane *lane = &state->lanes[i];
        if (op->awaits == XFW_AWAITS_STREAM && op->stream != i)
            continue;
        moved = moved || lane->moved;
        until = xfw_max(until, lane->moved ? part_end(lane, lane->part, flow->terms.buffers - 1)
                                           : lane->work_end);
    }
    if (!moved)
        return;
    op->stream = xfw_player_side_stream(player, 0, HOST);
    op->stream_kind = XFW_NONBLOCKING;
    op->awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, op->stream, until);
}

static void wait_of_host(const struct dataflow *flow, struct state *state,
                         struct xfw_player *player, struct xfw_op *op)
{
    if (xfw_player_certainty(player) == XFW_HIGH && op->kind == XFT_EVENT_SYNC)
        wait_later(flow, state, player, op);
    else if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE &&
             lane_of(state, op->stream)->moved)
        xfw_player_stream_after(player, op->stream, all_of(player, op->stream));
}

/* ---- the change ------------------------------------------------------------------------------ */

static void take_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct dataflow *flow = of(change);
    struct state *state = self;
    harvest(state, player);
    if (flow->terms.first)
        flow->terms.first->type->op(flow->terms.first, state->of_first, player, op);
    wait_for_data(state, player, op);
    if (op->kind == XFT_EVENT_ALLOC)
        xfw_spans_allocated(&state->spans, op->dst, op->bytes);
    else if (op->kind == XFT_EVENT_FREE)
        xfw_spans_freed(&state->spans, op->dst);
    if (flow->terms.buffers == 1) {
        if (leaves(flow, player, op))
            unblock(flow, state, player, op);
        return;
    }
    if (is_copy_with_host(op->what, op->engine))
        op->both_ways =
            xfw_both_ways(&state->both_ways, change->analysis, xfw_player_certainty(player), op);
    if (leaves(flow, player, op))
        move(flow, state, player, op);
    else if (xfw_op_is_work(op) && op->stream != XFW_NONE)
        stay(flow, state, player, op);
    else if (op->what == XFW_RECORD)
        record(state, player, op);
    else if (op->what == XFW_WAIT)
        wait_for_event(player, op);
    else if (op->awaits != XFW_AWAITS_NOTHING)
        wait_of_host(flow, state, player, op);
    if (flow->one_engine && op->engine == XFW_TO_HOST)
        op->one_engine = true;
}

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct xfw_change *first = of(change)->terms.first;
    struct state *state = self;
    if (!first)
        return;
    state->of_first = xfa_alloc(first->type->state_bytes + 1);
    if (first->type->begin)
        first->type->begin(first, state->of_first, player);
}

static void end(const struct xfw_change *change, void *self)
{
    const struct xfw_change *first = of(change)->terms.first;
    struct state *state = self;
    if (first && first->type->end)
        first->type->end(first, state->of_first);
    free(state->of_first);
    xfw_spans_free(&state->spans);
    free(state->lanes);
    free(state->hosts);
}

static void release(struct xfw_change *change)
{
    xfw_change_free(((struct dataflow *)change)->terms.first);
}

static double scalar(const struct xfp_profile *profile, const char *name)
{
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    return scalar ? scalar->cost.median : 0;
}

struct xfw_change *xfw_change_dataflow(const struct xfa_analysis *analysis,
                                       const struct xfw_dataflow_terms *terms)
{
    static const struct xfw_change_type type = {
        .name = "dataflow",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = take_op,
        .end = end,
        .free = release,
    };
    const struct xfp_profile *profile = analysis->profile;
    struct dataflow *flow = xfa_alloc(sizeof *flow);
    *flow = (struct dataflow){
        .change = {.type = &type,
                   .analysis = analysis,
                   .family = terms->to_device ? "overlap" : "both ways",
                   .for_comparison = terms->buffers == 1},
        .terms = *terms,
        .event_ns = 2000,
    };
    for (size_t i = 0; profile && i < profile->overlap_count; i++) {
        flow->implicit_sync = flow->implicit_sync || profile->overlap[i].implicit_sync;
        flow->one_engine = flow->one_engine || profile->overlap[i].copy_engines == 1;
    }
    if (profile && xfp_find_scalar(profile, "event/record/gpu0"))
        flow->event_ns = scalar(profile, "event/record/gpu0") + scalar(profile, "event/wait/gpu0");
    return &flow->change;
}
