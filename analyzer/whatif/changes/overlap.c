/*
 * overlap: copies leave their stream for side streams of it, so that they overlap with its kernels
 * (dataflow). Parts of the work stay in order: a part copies to the device, computes, copies back,
 * and begins when the part before it that used the same buffer is done.
 */
#include "analyzer/whatif/changes/overlap.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/feedback.h"
#include "analyzer/whatif/changes/parts.h"
#include "analyzer/whatif/changes/put_off.h"
#include "analyzer/whatif/changes/spans.h"
#include "analyzer/whatif/changes/waits.h"
#include "xferscope/trace.h"

/* ---- copies in streams of their own ---------------------------------------------------------- */

/* One of the process's streams. */
struct stream {
    struct xfw_parts parts;
    bool moved;          /* copies of it have left */
    uint64_t used;       /* the last part whose data the host had time to use */
    double work_end;     /* of kernels and what else is no copy with the host */
    double recorded_end; /* of all its work, as recorded */
};

/* The op that was played last: its end is known when the next op comes. */
struct last {
    struct xfw_used used;
    bool there, moved, pends; /* pends: the host does not wait for it any more */
    uint32_t stream, played;  /* of the process; where it was played */
    uint32_t thread;
    uint64_t part;
    double duration_ns;
};

struct state {
    struct xfw_spans spans;
    struct stream *streams;
    size_t stream_count, stream_capacity;
    uint32_t *recorded_in; /* by event: in which stream last, + 1; 0: in none */
    size_t event_count, event_capacity;
    struct xfw_threads_put_off threads;
    struct last last;
    struct xfw_set stacks; /* that have given work */
    struct xfw_feedback feedback;
    double kernel_start; /* of the kernel that began last */
    uint32_t mark;       /* an event of its own, if it has one */
    bool has_mark;
    struct xfw_more_buffers more_buffers;
    struct xfw_slowdowns slowdowns;
    struct xfw_asked_times asked;
    struct xfw_asked costs;
    void *of_first; /* the state of the change that is made first */
};

struct dataflow {
    struct xfw_change change;
    struct xfw_dataflow_terms terms;
    bool implicit_sync, one_engine; /* of any GPU of the profile */
    double event_ns;                /* of the host, to record an event and wait for it */
};

static struct stream *stream_of(struct state *state, uint32_t number)
{
    if (number >= state->stream_count)
        state->streams = xfa_grown(state->streams, &state->stream_capacity, &state->stream_count,
                                   number, sizeof *state->streams);
    return &state->streams[number];
}

/* ---- which part of the work ----------------------------------------- */

static uint64_t *parts_of_thread(struct state *state, const struct stream *stream)
{
    return &xfw_put_off_of(&state->threads, stream->parts.thread)->parts;
}

static double end_of_behind(const struct dataflow *flow, struct state *state,
                            const struct stream *stream, uint64_t part)
{
    uint64_t of_thread = *parts_of_thread(state, stream);
    return xfw_parts_end(&stream->parts, part,
                         xfw_parts_behind(&stream->parts, of_thread, flow->terms.buffers));
}

/* A part begins when the one is done that used its buffers before. */
static double may_begin(const struct dataflow *flow, const struct stream *stream, uint64_t part)
{
    return xfw_parts_end(&stream->parts, part,
                         xfw_parts_in_flight(&stream->parts, flow->terms.buffers));
}

/* ---- the op before -------------------------------------------------- */

static struct last *note_last(struct state *state, const struct xfw_player *player,
                              const struct xfw_op *op)
{
    state->last = (struct last){
        .used = xfw_used_by(xfw_player_process(player), op),
        .there = true,
        .stream = op->stream,
        .played = op->stream,
        .thread = op->thread,
        .duration_ns = op->duration_ns,
    };
    return &state->last;
}

/* Its end is known now: notes it where it is asked for. */
static void note_end(struct state *state, const struct xfw_player *player)
{
    struct last *last = &state->last;
    if (!last->there)
        return;
    last->there = false;
    struct stream *stream = stream_of(state, last->stream);
    double end = xfw_player_work_end(player, last->played);
    if (last->part) {
        double *of_part = &stream->parts.ends[last->part % XFW_PARTS];
        *of_part = xfw_max(*of_part, end);
    }
    xfw_spans_note(&state->spans, &last->used, end);
    if (!last->moved) {
        if (!xfw_is_copy_with_host(last->used.what, last->used.engine))
            stream->work_end = xfw_max(stream->work_end, end);
        if (last->used.engine == XFW_COMPUTE)
            state->kernel_start = xfw_max(state->kernel_start, end - last->duration_ns);
    }
    if (last->pends) {
        struct xfw_put_off *thread = xfw_put_off_of(&state->threads, last->thread);
        xfw_put_off_copy(thread, last->used.bytes, end);
        thread->stream = last->stream;
        thread->part = last->part;
    }
}

/* Who does not seem to need the data at hand uses that of the part as far back as there are
 * buffers, once for each part: such copies are as good as a wait behind them. Copies to the host
 * alone are no parts. */
static double part_to_use(const struct dataflow *flow, struct state *state,
                          const struct xfw_player *player, const struct xfw_op *op)
{
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    struct stream *stream = stream_of(state, thread->stream);
    bool again = thread->part <= stream->used;
    stream->used = thread->part;
    if (again || stream->parts.fetches || !flow->terms.to_device || flow->terms.buffers == 1 ||
        xfw_player_certainty(player) == XFW_LOW || xfw_feedback_looks(&state->feedback))
        return thread->until;
    xfw_owe(thread, op, thread->until);
    return xfw_min(thread->until, end_of_behind(flow, state, stream, thread->part));
}

/* The host had time to use data that it did not wait for: it waits first. */
static void wait_for_data(const struct dataflow *flow, struct state *state,
                          struct xfw_player *player, const struct xfw_op *op)
{
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    if (op->what == XFW_MESSAGE)
        xfw_wait_until(player, op, xfw_spans_message(&state->spans, op));
    if (!xfw_may_have_used(thread, op, xfw_player_certainty(player) == XFW_HIGH))
        return;
    xfw_wait_until(player, op, part_to_use(flow, state, player, op));
    thread->bytes = 0;
}

/* ---- copies that leave ---------------------------------------------- */

static bool leaves(const struct dataflow *flow, const struct xfw_player *player,
                   const struct xfw_op *op)
{
    if (!xfw_is_copy_with_host(op->what, op->engine) || op->stream == XFW_NONE)
        return false;
    if (op->class == XFW_NONE) /* inserted by a change */
        return op->made_up && op->awaits == XFW_AWAITS_NOTHING &&
               (op->engine != XFW_TO_DEVICE || flow->terms.to_device);
    const struct xfa_class *class = xfa_class_at(&flow->change.analysis->classes, op->class);
    bool blocks = op->awaits != XFW_AWAITS_NOTHING;
    bool pageable = !flow->terms.first && xfa_row_pageable(&class->key.row);
    /* What rows reach beyond their bytes is not known. */
    bool rows = class->key.shape == XFA_STRIDED && !op->in_one;
    bool stay = xfa_row_pageable(&class->key.row) || xfw_player_certainty(player) == XFW_LOW;
    if (class->key.shape == XFA_BATCH || (rows && stay) ||
        (op->engine == XFW_TO_DEVICE && !flow->terms.to_device))
        return false;
    return !blocks || (!pageable && xfw_player_certainty(player) != XFW_LOW);
}

static void submit(const struct dataflow *flow, struct state *state, struct xfw_op *op)
{
    const double behind = 1000; /* other work, at most: a guess */
    const struct xfa_class *class = xfa_class_at(&flow->change.analysis->classes, op->class);
    double ns = xfw_asked_time(&state->asked, class, op->bytes)->submit_ns;
    op->awaits = XFW_AWAITS_NOTHING;
    op->latency_ns = xfw_asked_around(&state->costs, &flow->change.analysis->achievable,
                                      op->engine == XFW_TO_DEVICE ? XFT_DIR_H2D : XFT_DIR_D2H,
                                      op->gpu, op->latency_ns);
    op->own_ns = isnan(ns) ? XFW_SUBMIT_NS : ns;
    op->wake_ns = 0;
    op->space_ns = xfw_min(behind, op->latency_ns);
}

/* A program has its buffers before it begins: the thread, and all that it has submitted, are as
 * much later. */
static void begin_later(struct state *state, struct xfw_player *player, struct xfw_op *op,
                        double ns)
{
    struct xfw_op lock = xfw_op_like(op);
    if (!(ns > 0))
        return;
    lock.kind = XFT_EVENT_REGISTER;
    lock.own_ns = ns;
    xfw_player_play_before(player, &lock, op);
    xfw_put_off_later(xfw_put_off_of(&state->threads, op->thread), ns);
    for (size_t i = 0; i < state->stream_count; i++) {
        struct stream *stream = &state->streams[i];
        if (stream->parts.thread != op->thread || stream->parts.shared || !stream->parts.part)
            continue;
        xfw_all_later(player, (uint32_t)i, ns);
        stream->work_end += ns;
        xfw_parts_later(&stream->parts, ns);
    }
}

/* Page-locked memory that parts in flight use is several buffers. */
static void have_buffers(const struct dataflow *flow, struct state *state,
                         struct xfw_player *player, struct xfw_op *op,
                         const struct xfw_more_use *use)
{
    struct stream *stream = stream_of(state, op->stream);
    if (use->bytes > 0)
        begin_later(state, player, op,
                    xfw_more_buffers_ns(&state->more_buffers, &stream->parts.runs[use->to_host],
                                        &flow->change.analysis->achievable, use,
                                        xfw_parts_share(&stream->parts, flow->terms.buffers),
                                        xfw_player_certainty(player)));
}

static void move(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    bool up = op->engine == XFW_TO_DEVICE, blocks = op->awaits != XFW_AWAITS_NOTHING;
    struct stream *stream = stream_of(state, op->stream);
    uint32_t side = xfw_player_side_stream(player, op->stream, up ? XFW_SIDE_UP : XFW_SIDE_DOWN);
    struct last *last = note_last(state, player, op);
    last->moved = true;
    last->pends = blocks;
    last->played = side;
    last->part = xfw_parts_of(&stream->parts, parts_of_thread(state, stream),
                              up ? XFW_STAGE_TO_DEVICE : XFW_STAGE_TO_HOST, false);
    struct xfw_more_use use = {.part = last->part};
    if (xfw_more_use_of_copy(&use, flow->change.analysis, op))
        have_buffers(flow, state, player, op, &use);
    double after = 0;
    if (!up)
        after = xfw_spans_computed(&state->spans, op->src, op->bytes, stream->work_end);
    else if (!op->made_up || op->src != op->dst) /* else it sends what the host has anew */
        after = xfw_spans_written(&state->spans, op->src, op->bytes);
    if (!up) {
        after = xfw_max(after, xfw_spans_written(&state->spans, op->src, op->bytes));
        after = xfw_max(after, xfw_spans_read(&state->spans, op->dst, op->bytes));
    }
    after = xfw_max(after, may_begin(flow, stream, last->part));
    if (flow->implicit_sync)
        after = xfw_max(after, state->kernel_start);
    xfw_player_stream_after(player, side, after);
    if (blocks) {
        xfw_run_ahead(xfw_put_off_of(&state->threads, op->thread), flow->terms.buffers, player, op);
        submit(flow, state, op);
    }
    if (xfw_player_certainty(player) == XFW_LOW)
        op->own_ns += flow->event_ns;
    stream->moved = true;
    xfw_player_moved(player, op->stream, side);
    op->stream = side;
    op->stream_kind = XFW_NONBLOCKING;
}

/* For comparison: the copy does not block, and stays in its stream. */
static void unblock(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_NOTHING)
        return;
    xfw_run_ahead(xfw_put_off_of(&state->threads, op->thread), flow->terms.buffers, player, op);
    submit(flow, state, op);
    note_last(state, player, op)->pends = true;
}

/* ---- what stays ----------------------------------------------------- */

static void stay(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                 const struct xfw_op *op)
{
    struct stream *stream = stream_of(state, op->stream);
    struct last *last = note_last(state, player, op);
    struct xfw_copied wants = xfw_spans_needs(&state->spans, &last->used);
    bool copy = xfw_is_copy_with_host(op->what, op->engine);
    enum xfw_stage stage = !copy                         ? XFW_STAGE_COMPUTE
                           : op->engine == XFW_TO_DEVICE ? XFW_STAGE_TO_DEVICE
                                                         : XFW_STAGE_TO_HOST;
    bool knows = op->what == XFW_KERNEL || copy;
    last->part =
        xfw_parts_of(&stream->parts, parts_of_thread(state, stream), stage, op->what == XFW_SET);
    double after = xfw_max(wants.written, may_begin(flow, stream, last->part));
    if (xfw_player_certainty(player) == XFW_LOW || !knows)
        after = xfw_max(after, wants.read);
    xfw_player_stream_after(player, op->stream, after);
}

/* ---- graphs ---------------------------------------------------------- */

static void cut_graph(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                      struct xfw_op *op)
{
    struct stream *stream = stream_of(state, op->stream);
    uint64_t part = xfw_parts_begin(&stream->parts, parts_of_thread(state, stream));
    const struct xfw_more_use up_use = {0, op->up_bytes, part, op->stream, -1, op->gpu, false};
    const struct xfw_more_use down_use = {0, op->down_bytes, part, op->stream, -1, op->gpu, true};
    have_buffers(flow, state, player, op, &up_use);
    have_buffers(flow, state, player, op, &down_use);
    struct last *last = note_last(state, player, op);
    stream->parts.stage = XFW_STAGE_TO_DEVICE; /* what follows may belong to it */
    stream->moved = true;
    last->part = part;
    double after = may_begin(flow, stream, part);
    if (op->up_ns > 0) {
        struct xfw_op up = xfw_part_of_graph(op, XFW_TO_DEVICE, op->up_ns);
        up.stream = xfw_player_side_stream(player, op->stream, XFW_SIDE_UP);
        up.latency_ns = op->latency_ns;
        up.lead_ns = op->lead_ns;
        xfw_op_take_gap(&up, op);
        xfw_player_stream_after(player, up.stream, after);
        xfw_player_play(player, &up);
        after = xfw_schedule_stream_end(xfw_player_schedule(player), up.stream);
        op->space_ns = 0; /* between its parts is in the graph's time */
    }
    xfw_player_stream_after(player, op->stream, after);
    if (op->down_ns > 0) {
        struct xfw_op mark = xfw_op_like(op), wait = mark;
        struct xfw_op down = xfw_part_of_graph(op, XFW_TO_HOST, op->down_ns);
        if (!state->has_mark)
            state->mark = xfw_player_side_event(player);
        state->has_mark = true;
        mark.what = XFW_RECORD;
        wait.what = XFW_WAIT;
        mark.event = wait.event = state->mark;
        wait.stream_kind = XFW_NONBLOCKING;
        down.stream = wait.stream = xfw_player_side_stream(player, op->stream, XFW_SIDE_DOWN);
        xfw_player_play_behind(player, &mark);
        xfw_player_play_behind(player, &wait);
        xfw_player_play_behind(player, &down);
        last->played = down.stream;
    }
    op->duration_ns -= op->up_ns + op->down_ns;
    op->up_ns = op->down_ns = op->lead_ns = 0;
}

/* ---- events and waits ----------------------------------------------- */

/* When all is done that the wait is for. */
static double target_of(struct state *state, struct xfw_player *player, const struct xfw_op *op)
{
    double target = 0;
    if (op->awaits == XFW_AWAITS_STREAM)
        return xfw_all_done(player, op->stream);
    if (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE)
        return xfw_schedule_event_end(xfw_player_schedule(player), op->event);
    for (size_t i = 0; i < state->stream_count; i++)
        if (state->streams[i].parts.part)
            target = xfw_max(target, xfw_all_done(player, (uint32_t)i));
    return target;
}

/* An event is recorded behind the work of its stream, and of those that this waits for: streams of
 * the same thread, as far as is known. */
static bool is_awaited(const struct state *state, const struct xfw_op *op, uint32_t number)
{
    if (op->awaits == XFW_AWAITS_STREAM)
        return op->stream == number;
    bool of_event = op->event < state->event_count && state->recorded_in[op->event] == number + 1;
    return op->awaits != XFW_AWAITS_EVENT || of_event ||
           state->streams[number].parts.thread == op->thread;
}

static void note_event(struct state *state, const struct xfw_op *op)
{
    if (op->event == XFW_NONE || op->event >= XFW_FIRST_SIDE_EVENT)
        return;
    if (op->event >= state->event_count)
        state->recorded_in = xfa_grown(state->recorded_in, &state->event_capacity,
                                       &state->event_count, op->event, sizeof *state->recorded_in);
    state->recorded_in[op->event] = op->stream + 1;
}

/* The host waits for the part that is as far back as there are buffers. */
static void wait_later(const struct dataflow *flow, struct state *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    double until = 0;
    bool moved = false;
    for (size_t i = 0; i < state->stream_count; i++) {
        const struct stream *stream = &state->streams[i];
        if (!is_awaited(state, op, (uint32_t)i))
            continue;
        moved = moved || stream->moved;
        until =
            xfw_max(until, stream->moved ? end_of_behind(flow, state, stream, stream->parts.part)
                                         : stream->work_end);
    }
    if (!moved)
        return;
    double target = target_of(state, player, op);
    xfw_owe(xfw_put_off_of(&state->threads, op->thread), op, target);
    op->stream = xfw_player_side_stream(player, op->thread, XFW_SIDE_HOST);
    op->stream_kind = XFW_NONBLOCKING;
    op->awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, op->stream, xfw_min(until, target));
}

/* The wait is for several of the program's own streams: it has them, and what is too much is the
 * wait (overbroad-wait). What is busy only since copies overlap was not meant. */
static bool is_for_several(struct state *state, struct xfw_player *player, const struct xfw_op *op)
{
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    unsigned busy = 0;
    for (size_t i = 0; op->awaits == XFW_AWAITS_DEVICE && i < state->stream_count; i++)
        busy += state->streams[i].recorded_end > op->start_ns &&
                xfw_all_done(player, (uint32_t)i) > now;
    return busy > 1;
}

static void note_recorded(struct state *state, const struct xfw_op *op)
{
    struct stream *stream = stream_of(state, op->stream);
    double end = isnan(op->device_end_ns) ? op->end_ns : op->device_end_ns;
    stream->recorded_end = xfw_max(stream->recorded_end, end);
}

/* Work from a call stack that gave none before begins another stage of the program: the parts in
 * flight are those of one loop, whose last waits are for all of it. */
static void begin_stage(struct state *state, struct xfw_player *player, const struct xfw_op *op)
{
    if (op->from == 0 || xfw_set_has(&state->stacks, op->from))
        return;
    xfw_set_add(&state->stacks, op->from);
    xfw_pay(xfw_put_off_of(&state->threads, op->thread), player);
}

static void wait_of_host(const struct dataflow *flow, struct state *state,
                         struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    bool gave = thread->gave; /* else it wants all of it */
    thread->gave = false;
    bool looks = xfw_feedback_looks(&state->feedback);
    bool may = gave && op->kind == XFT_EVENT_SYNC;
    if (may && certainty == XFW_LIKELY)
        may = flow->terms.to_device && !looks && !is_for_several(state, player, op);
    if (may && certainty != XFW_LOW)
        wait_later(flow, state, player, op);
    else if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE &&
             stream_of(state, op->stream)->moved)
        xfw_player_stream_after(player, op->stream, xfw_all_done(player, op->stream));
}

/* ---- the change ----------------------------------------------------- */

static void dataflow_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                        struct xfw_op *op)
{
    const struct dataflow *flow = (const struct dataflow *)change;
    struct state *state = self;
    note_end(state, player);
    if (flow->terms.first)
        flow->terms.first->type->op(flow->terms.first, state->of_first, player, op);
    wait_for_data(flow, state, player, op);
    if (xfw_op_is_beside(op))
        return;
    xfw_feedback_note(&state->feedback, change->analysis, xfw_player_process(player), op);
    if (xfw_op_is_work(op)) {
        begin_stage(state, player, op);
        xfw_put_off_of(&state->threads, op->thread)->gave = true;
        if (op->stream != XFW_NONE && !op->made_up)
            note_recorded(state, op);
        if (op->stream != XFW_NONE)
            xfw_parts_give(&stream_of(state, op->stream)->parts, op->thread);
    } else if (op->what == XFW_RECORD && op->stream != XFW_NONE) {
        note_event(state, op);
    }
    if (op->kind == XFT_EVENT_ALLOC)
        xfw_spans_allocated(&state->spans, op->dst, op->bytes);
    else if (op->kind == XFT_EVENT_FREE)
        xfw_spans_freed(&state->spans, op->dst);
    if (flow->terms.buffers == 1) {
        if (leaves(flow, player, op))
            unblock(flow, state, player, op);
        return;
    }
    if (xfw_is_copy_with_host(op->what, op->engine))
        op->slowdown =
            xfw_slowdown(&state->slowdowns, change->analysis, xfw_player_certainty(player), op);
    if (leaves(flow, player, op))
        move(flow, state, player, op);
    else if (flow->terms.to_device && op->stream != XFW_NONE && xfw_is_graph_cut(player, op))
        cut_graph(flow, state, player, op);
    else if (xfw_op_is_work(op) && op->stream != XFW_NONE)
        stay(flow, state, player, op);
    else if (op->what == XFW_RECORD && op->stream != XFW_NONE &&
             stream_of(state, op->stream)->moved)
        xfw_record_behind_all(player, op);
    else if (op->what == XFW_WAIT && op->stream != XFW_NONE)
        xfw_wait_with_sides(player, op);
    else if (op->awaits != XFW_AWAITS_NOTHING && op->what != XFW_MESSAGE)
        wait_of_host(flow, state, player, op);
    if (flow->one_engine && op->engine == XFW_TO_HOST)
        op->one_engine = true;
}

static void dataflow_begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct xfw_change *first = ((const struct dataflow *)change)->terms.first;
    ((struct state *)self)->of_first = first ? xfw_change_begin(first, player) : NULL;
}

/* Waits that came later end with the run at the latest. */
static void dataflow_finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct state *state = self;
    (void)change;
    for (size_t i = 0; i < state->threads.count; i++)
        xfw_pay(&state->threads.threads[i], player);
}

static void dataflow_end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    if (state->of_first)
        xfw_change_end(((const struct dataflow *)change)->terms.first, state->of_first);
    xfw_spans_free(&state->spans);
    xfw_more_buffers_free(&state->more_buffers);
    xfw_feedback_free(&state->feedback);
    xfw_set_free(&state->stacks);
    free(state->streams);
    free(state->recorded_in);
    xfw_threads_put_off_free(&state->threads);
}

static void dataflow_free(struct xfw_change *change)
{
    xfw_change_free(((struct dataflow *)change)->terms.first);
}

struct xfw_change *xfw_change_dataflow(const struct xfa_analysis *analysis,
                                       const struct xfw_dataflow_terms *terms)
{
    static const struct xfw_change_type type = {
        .name = "dataflow",
        .state_bytes = sizeof(struct state),
        .begin = dataflow_begin,
        .op = dataflow_op,
        .finish = dataflow_finish,
        .end = dataflow_end,
        .free = dataflow_free,
    };
    const struct xfp_profile *profile = analysis->profile;
    const struct xfp_scalar *record =
        profile ? xfp_find_scalar(profile, "event/record/gpu0") : NULL;
    const struct xfp_scalar *wait = profile ? xfp_find_scalar(profile, "event/wait/gpu0") : NULL;
    struct dataflow *flow = xfw_change_new(sizeof *flow, &type, analysis, NULL);
    flow->change.family = terms->to_device ? "overlap" : "both ways";
    flow->change.for_comparison = terms->buffers == 1;
    flow->terms = *terms;
    for (size_t i = 0; profile && i < profile->overlap_count; i++) {
        flow->implicit_sync = flow->implicit_sync || profile->overlap[i].implicit_sync;
        flow->one_engine = flow->one_engine || profile->overlap[i].copy_engines == 1;
    }
    flow->change.idle = terms->buffers == 1 && !terms->first && xfw_none_blocks(analysis);
    flow->event_ns = record ? record->cost.median + (wait ? wait->cost.median : 0) : XFW_EVENT_NS;
    return &flow->change;
}
