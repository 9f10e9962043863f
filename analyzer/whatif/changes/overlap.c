/*
 * overlap: copies leave their stream for side streams of it, so that they overlap with its kernels
 * (dataflow). Parts of the work stay in order: a part copies to the device, computes, copies back,
 * and begins when the part before it that used the same buffer is done.
 */
#include "analyzer/whatif/changes/overlap.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/whatif/changes/flow.h"
#include "analyzer/whatif/changes/waits.h"
#include "xferscope/trace.h"

/* ---- the op before -------------------------------------------------- */

static struct xfw_flow_last *note_last(struct xfw_flow *state, const struct xfw_player *player,
                                       const struct xfw_op *op)
{
    state->last = (struct xfw_flow_last){
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
static void note_end(struct xfw_flow *state, const struct xfw_player *player)
{
    struct xfw_flow_last *last = &state->last;
    if (!last->there)
        return;
    last->there = false;
    struct xfw_flow_stream *stream = xfw_flow_stream(state, last->stream);
    double end = xfw_player_work_end(player, last->played);
    if (last->part) {
        double *of_part = &stream->parts.ends[last->part % XFW_PARTS];
        *of_part = xfw_max(*of_part, end);
        double *filled = &stream->parts.filled[last->part % XFW_PARTS];
        if (last->used.engine == XFW_TO_DEVICE)
            *filled = xfw_max(*filled, end);
    }
    if (last->called) { /* what it uses is the host's: the part's buffers */
        stream->called = last->part;
        stream->called_end = end;
    } else {
        xfw_spans_note(&state->spans, &last->used, end);
    }
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
static double part_to_use(const struct xfw_dataflow *flow, struct xfw_flow *state,
                          const struct xfw_player *player, const struct xfw_op *op)
{
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    struct xfw_flow_stream *stream = xfw_flow_stream(state, thread->stream);
    bool again = thread->part <= stream->used;
    stream->used = thread->part;
    if (again || stream->parts.fetches || !flow->terms.to_device || flow->terms.buffers == 1 ||
        xfw_player_certainty(player) == XFW_LOW || xfw_feedback_looks(&state->feedback))
        return thread->until;
    xfw_owe(thread, op, thread->until);
    return xfw_min(thread->until, xfw_flow_end_behind(flow, state, stream, thread->part));
}

/* The host had time to use data that it did not wait for: it waits first. */
static void wait_for_data(const struct xfw_dataflow *flow, struct xfw_flow *state,
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

/* What follows a function of the host in its part waits for it. */
static double called_end(const struct xfw_flow_stream *stream, uint64_t part)
{
    return stream->called == part ? stream->called_end : 0;
}

/* ---- copies that leave ---------------------------------------------- */

static bool leaves(const struct xfw_dataflow *flow, const struct xfw_player *player,
                   const struct xfw_op *op)
{
    if (!xfw_is_copy_with_host(op->what, op->engine) || op->stream == XFW_NONE)
        return false;
    if (op->class == XFW_NONE) /* inserted by a change */
        return op->made_up && op->awaits == XFW_AWAITS_NOTHING &&
               (op->engine != XFW_TO_DEVICE || flow->terms.to_device);
    const struct xfa_class_key *key = xfa_class_key_at(&flow->change.analysis->classes, op->class);
    bool blocks = op->awaits != XFW_AWAITS_NOTHING;
    bool pageable = !flow->terms.first && xfa_row_pageable(&key->row);
    /* What rows reach beyond their bytes is not known. */
    bool rows = key->shape == XFA_STRIDED && !op->in_one;
    if (key->shape == XFA_BATCH || (rows && xfw_player_certainty(player) == XFW_LOW) ||
        (op->engine == XFW_TO_DEVICE && !flow->terms.to_device))
        return false;
    return !blocks || (!pageable && xfw_player_certainty(player) != XFW_LOW);
}

static void submit(const struct xfw_dataflow *flow, struct xfw_flow *state, struct xfw_op *op)
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

static void move(const struct xfw_dataflow *flow, struct xfw_flow *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    bool up = op->engine == XFW_TO_DEVICE, blocks = op->awaits != XFW_AWAITS_NOTHING;
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    uint32_t side = xfw_player_side_stream(player, op->stream, up ? XFW_SIDE_UP : XFW_SIDE_DOWN);
    struct xfw_flow_last *last = note_last(state, player, op);
    last->moved = true;
    last->pends = blocks;
    last->played = side;
    last->part = xfw_parts_of(&stream->parts, xfw_flow_parts(state, stream),
                              up ? XFW_STAGE_TO_DEVICE : XFW_STAGE_TO_HOST, false);
    struct xfw_more_use use = {.part = last->part};
    if (xfw_more_use_of_copy(&use, flow->change.analysis, op)) {
        if (op->row_bytes && !op->in_one)
            use.bytes = xfw_flow_bytes_of_rows(&state->spans, &use);
        xfw_flow_have_buffers(flow, state, player, op, &use);
    }
    double after = 0;
    if (!up)
        after = xfw_spans_computed(&state->spans, op->src, op->bytes, stream->work_end);
    else if (!op->made_up || op->src != op->dst) /* else it sends what the host has anew */
        after = xfw_spans_written(&state->spans, op->src, op->bytes);
    if (!up) {
        after = xfw_max(after, xfw_spans_written(&state->spans, op->src, op->bytes));
        after = xfw_max(after, xfw_spans_read(&state->spans, op->dst, op->bytes));
    }
    after = xfw_max(after, xfw_flow_may_begin(flow, stream, last->part));
    after = xfw_max(after, called_end(stream, last->part));
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
static void unblock(const struct xfw_dataflow *flow, struct xfw_flow *state,
                    struct xfw_player *player, struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_NOTHING)
        return;
    xfw_run_ahead(xfw_put_off_of(&state->threads, op->thread), flow->terms.buffers, player, op);
    submit(flow, state, op);
    note_last(state, player, op)->pends = true;
}

/* ---- what stays ----------------------------------------------------- */

static void stay(const struct xfw_dataflow *flow, struct xfw_flow *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    struct xfw_flow_last *last = note_last(state, player, op);
    struct xfw_copied wants = xfw_spans_needs(&state->spans, &last->used);
    bool copy = xfw_is_copy_with_host(op->what, op->engine);
    enum xfw_stage stage = !copy                         ? XFW_STAGE_COMPUTE
                           : op->engine == XFW_TO_DEVICE ? XFW_STAGE_TO_DEVICE
                                                         : XFW_STAGE_TO_HOST;
    bool knows = op->what == XFW_KERNEL || copy;
    bool reads = xfw_flow_reads_host(state, player, op);
    if (reads && stream->parts.waited)
        stream->parts.stage = XFW_STAGE_TO_HOST; /* it begins another part */
    last->part = xfw_parts_of(&stream->parts, xfw_flow_parts(state, stream), stage,
                              op->what == XFW_SET || op->what == XFW_HOST_FUNCTION);
    if (reads) {
        xfw_flow_have_mapped(flow, state, player, op, last->part);
        stream->moved = true; /* the host's waits for it may come later */
    }
    double after = xfw_max(wants.written, xfw_flow_may_begin(flow, stream, last->part));
    after = xfw_max(after, called_end(stream, last->part));
    if (xfw_player_certainty(player) == XFW_LOW || !knows)
        after = xfw_max(after, wants.read);
    xfw_player_stream_after(player, op->stream, after);
}

/* A function of the host leaves its stream, too: the driver is on its way to it when its part has
 * come to it. */
static void call(const struct xfw_dataflow *flow, struct xfw_flow *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    uint32_t side = xfw_player_side_stream(player, op->stream, XFW_SIDE_CALLS);
    struct xfw_flow_last *last = note_last(state, player, op);
    last->moved = last->called = true;
    last->played = side;
    last->part =
        xfw_parts_of(&stream->parts, xfw_flow_parts(state, stream), XFW_STAGE_COMPUTE, true);
    xfw_flow_note_call(state, op, last->part);
    double after = xfw_max(xfw_parts_end(&stream->parts, last->part, 0),
                           xfw_flow_may_begin(flow, stream, last->part));
    xfw_player_stream_after(player, side, after + op->space_ns);
    op->space_ns = 0;
    stream->moved = true;
    xfw_player_moved(player, op->stream, side);
    op->stream = side;
    op->stream_kind = XFW_NONBLOCKING;
}

/* ---- graphs ---------------------------------------------------------- */

static void cut_graph(const struct xfw_dataflow *flow, struct xfw_flow *state,
                      struct xfw_player *player, struct xfw_op *op)
{
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    uint64_t part = xfw_parts_begin(&stream->parts, xfw_flow_parts(state, stream));
    const struct xfw_more_use up_use = {op->src, op->up_bytes, part, op->stream,
                                        -1,      op->gpu,      false};
    const struct xfw_more_use down_use = {op->dst, op->down_bytes, part, op->stream,
                                          -1,      op->gpu,        true};
    xfw_flow_have_buffers(flow, state, player, op, &up_use);
    xfw_flow_have_buffers(flow, state, player, op, &down_use);
    struct xfw_flow_last *last = note_last(state, player, op);
    stream->parts.stage = XFW_STAGE_TO_DEVICE; /* what follows may belong to it */
    stream->moved = true;
    last->part = part;
    double after = xfw_flow_may_begin(flow, stream, part);
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

/* ---- the change ----------------------------------------------------- */

static void dataflow_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                        struct xfw_op *op)
{
    const struct xfw_dataflow *flow = (const struct xfw_dataflow *)change;
    struct xfw_flow *state = self;
    note_end(state, player);
    if (flow->terms.first)
        flow->terms.first->type->op(flow->terms.first, state->of_first, player, op);
    if (op->for_job)
        xfw_flow_wait_of_job(flow, state, player, op);
    wait_for_data(flow, state, player, op);
    if (xfw_op_is_beside(op))
        return;
    xfw_feedback_note(&state->feedback, change->analysis, xfw_player_process(player), op);
    if (xfw_op_is_work(op)) {
        xfw_flow_begin_stage(state, player, op);
        xfw_put_off_of(&state->threads, op->thread)->gave = true;
        if (op->stream != XFW_NONE && !op->made_up)
            xfw_flow_note_recorded(state, op);
        if (op->stream != XFW_NONE)
            xfw_parts_give(&xfw_flow_stream(state, op->stream)->parts, op->thread);
    } else if (op->what == XFW_RECORD && op->stream != XFW_NONE) {
        xfw_flow_note_event(state, op);
    }
    xfw_flow_note_memory(state, op);
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
    else if (flow->terms.to_device && op->what == XFW_HOST_FUNCTION && op->stream != XFW_NONE &&
             xfw_player_certainty(player) != XFW_LOW)
        call(flow, state, player, op);
    else if (xfw_op_is_work(op) && op->stream != XFW_NONE)
        stay(flow, state, player, op);
    else if (op->what == XFW_RECORD && op->stream != XFW_NONE &&
             xfw_flow_stream(state, op->stream)->moved)
        xfw_record_behind_all(player, op);
    else if (op->what == XFW_WAIT && op->stream != XFW_NONE)
        xfw_wait_with_sides(player, op);
    else if (op->awaits != XFW_AWAITS_NOTHING && op->what != XFW_MESSAGE)
        xfw_flow_wait_of_host(flow, state, player, op);
    if (flow->one_engine && op->engine == XFW_TO_HOST)
        op->one_engine = true;
}

static void dataflow_begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct xfw_change *first = ((const struct xfw_dataflow *)change)->terms.first;
    struct xfw_flow *state = self;
    state->of_first = first ? xfw_change_begin(first, player) : NULL;
    state->maps_none = xfw_player_process(player)->maps_none;
}

/* Waits that came later end with the run at the latest. */
static void dataflow_finish(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct xfw_flow *state = self;
    (void)change;
    for (size_t i = 0; i < state->threads.count; i++)
        xfw_pay(&state->threads.threads[i], player);
}

static void dataflow_end(const struct xfw_change *change, void *self)
{
    struct xfw_flow *state = self;
    if (state->of_first)
        xfw_change_end(((const struct xfw_dataflow *)change)->terms.first, state->of_first);
    xfw_spans_free(&state->spans);
    xfw_more_buffers_free(&state->more_buffers);
    xfw_memories_free(&state->memories);
    xfw_feedback_free(&state->feedback);
    xfw_set_free(&state->stacks);
    free(state->streams);
    free(state->recorded_in);
    xfw_threads_put_off_free(&state->threads);
}

static void dataflow_free(struct xfw_change *change)
{
    xfw_change_free(((struct xfw_dataflow *)change)->terms.first);
}

struct xfw_change *xfw_change_dataflow(const struct xfa_analysis *analysis,
                                       const struct xfw_dataflow_terms *terms)
{
    static const struct xfw_change_type type = {
        .name = "dataflow",
        .state_bytes = sizeof(struct xfw_flow),
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
    struct xfw_dataflow *flow = xfw_change_new(sizeof *flow, &type, analysis, NULL);
    flow->change.family = terms->to_device ? "overlap" : "both ways";
    flow->change.for_comparison = terms->buffers == 1;
    flow->change.last = true;
    flow->terms = *terms;
    for (size_t i = 0; profile && i < profile->overlap_count; i++) {
        flow->implicit_sync = flow->implicit_sync || profile->overlap[i].implicit_sync;
        flow->one_engine = flow->one_engine || profile->overlap[i].copy_engines == 1;
    }
    flow->change.idle = terms->buffers == 1 && !terms->first && xfw_none_blocks(analysis);
    flow->event_ns = record ? record->cost.median + (wait ? wait->cost.median : 0) : XFW_EVENT_NS;
    return &flow->change;
}
