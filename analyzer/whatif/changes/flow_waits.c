/*
 * Events and waits of a program whose copies have left their streams: events are behind all of a
 * stream's work, and the host waits for another part than it did.
 */
#include "analyzer/whatif/changes/flow.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/overlap.h"
#include "xferscope/trace.h"

/* When all is done that the wait is for. */
static double target_of(struct xfw_flow *state, struct xfw_player *player, const struct xfw_op *op)
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
static bool is_awaited(const struct xfw_flow *state, const struct xfw_op *op, uint32_t number)
{
    if (op->awaits == XFW_AWAITS_STREAM)
        return op->stream == number;
    bool of_event = op->event < state->event_count && state->recorded_in[op->event] == number + 1;
    return op->awaits != XFW_AWAITS_EVENT || of_event ||
           state->streams[number].parts.thread == op->thread;
}

/* The streams that may be. */
struct among {
    size_t first, end;
};
static struct among may_be_awaited(const struct xfw_flow *state, const struct xfw_op *op)
{
    const struct among all = {0, state->stream_count};
    if (op->awaits != XFW_AWAITS_STREAM)
        return all;
    return op->stream < all.end ? (struct among){op->stream, (size_t)op->stream + 1}
                                : (struct among){0, 0};
}

void xfw_flow_note_event(struct xfw_flow *state, const struct xfw_op *op)
{
    if (op->event == XFW_NONE || op->event >= XFW_FIRST_SIDE_EVENT)
        return;
    if (op->event >= state->event_count)
        state->recorded_in = xfa_grown(state->recorded_in, &state->event_capacity,
                                       &state->event_count, op->event, sizeof *state->recorded_in);
    state->recorded_in[op->event] = op->stream + 1;
}

/* The host waits for the part that is as far back as there are buffers. */
static void wait_later(const struct xfw_dataflow *flow, struct xfw_flow *state,
                       struct xfw_player *player, struct xfw_op *op)
{
    double until = 0;
    bool moved = false; /* a change has it wait for what the host needs: made_up */
    const struct among all = may_be_awaited(state, op);
    for (size_t i = all.first; i < all.end; i++) {
        const struct xfw_flow_stream *stream = &state->streams[i];
        if (!is_awaited(state, op, (uint32_t)i))
            continue;
        moved = moved || stream->moved;
        uint64_t part = stream->parts.part;
        double behind = !stream->moved ? stream->work_end
                        : op->made_up  ? xfw_flow_filled_behind(flow, state, stream, part)
                                       : xfw_flow_end_behind(flow, state, stream, part);
        until = xfw_max(until, behind);
    }
    if (!moved)
        return;
    double target = target_of(state, player, op);
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    xfw_owe(thread, op, target);
    thread->later = true;
    op->stream = xfw_player_side_stream(player, op->thread, XFW_SIDE_HOST);
    op->stream_kind = XFW_NONBLOCKING;
    op->awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, op->stream, xfw_min(until, target));
}

/* The wait is for several of the program's own streams: it has them, and what is too much is the
 * wait (overbroad-wait). What is busy only since copies overlap was not meant. */
static bool is_for_several(struct xfw_flow *state, struct xfw_player *player,
                           const struct xfw_op *op)
{
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    unsigned busy = 0;
    for (size_t i = 0; op->awaits == XFW_AWAITS_DEVICE && i < state->stream_count; i++)
        busy += state->streams[i].recorded_end > op->start_ns &&
                xfw_all_done(player, (uint32_t)i) > now;
    return busy > 1;
}

void xfw_flow_note_recorded(struct xfw_flow *state, const struct xfw_op *op)
{
    struct xfw_flow_stream *stream = xfw_flow_stream(state, op->stream);
    double end = isnan(op->device_end_ns) ? op->end_ns : op->device_end_ns;
    stream->recorded_end = xfw_max(stream->recorded_end, end);
}

/* ---- jobs that functions of the host hand on ------------------------------------------------- */

void xfw_flow_note_call(struct xfw_flow *state, const struct xfw_op *op, uint64_t part)
{
    state->calls[state->call_count++ % XFW_FLOW_CALLS] =
        (struct xfw_flow_call){op->number + 1, part, op->stream};
}

static const struct xfw_flow_call *find_call(const struct xfw_flow *state, uint64_t number,
                                             uint32_t stream, uint64_t part)
{
    for (unsigned i = 0; i < XFW_FLOW_CALLS; i++) {
        const struct xfw_flow_call *call = &state->calls[i];
        if (number ? call->number == number : call->stream == stream && call->part == part)
            return call;
    }
    return NULL;
}

void xfw_flow_wait_of_job(const struct xfw_dataflow *flow, struct xfw_flow *state,
                          struct xfw_player *player, struct xfw_op *op)
{
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    const struct xfw_flow_call *call = find_call(state, op->woken_by_stream, 0, 0), *before = NULL;
    if (!thread->later || !call)
        return;
    thread->later = false;
    const struct xfw_flow_stream *stream = xfw_flow_stream(state, call->stream);
    unsigned behind =
        xfw_parts_behind(&stream->parts, *xfw_flow_parts(state, stream), flow->terms.buffers);
    if (call->part > behind)
        before = find_call(state, 0, call->stream, call->part - behind);
    xfw_owe(thread, op, xfw_schedule_job_end(xfw_player_schedule(player), call->number));
    op->woken_by_stream = before ? before->number : 0;
}

void xfw_flow_begin_stage(struct xfw_flow *state, struct xfw_player *player,
                          const struct xfw_op *op)
{
    if (op->from == 0 || xfw_set_has(&state->stacks, op->from))
        return;
    xfw_set_add(&state->stacks, op->from);
    xfw_pay(xfw_put_off_of(&state->threads, op->thread), player);
}

/* What follows in the streams is not of the parts that the host has waited for. */
static void note_waited(struct xfw_flow *state, const struct xfw_op *op)
{
    const struct among all = may_be_awaited(state, op);
    for (size_t i = all.first; i < all.end && state->maps; i++)
        if (is_awaited(state, op, (uint32_t)i))
            state->streams[i].parts.waited = true;
}

void xfw_flow_wait_of_host(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_put_off *thread = xfw_put_off_of(&state->threads, op->thread);
    bool gave = thread->gave; /* else it wants all of it */
    thread->gave = thread->later = false;
    note_waited(state, op);
    bool looks = xfw_feedback_looks(&state->feedback);
    bool may = gave && op->kind == XFT_EVENT_SYNC;
    if (may && certainty == XFW_LIKELY)
        may = flow->terms.to_device && !looks && !is_for_several(state, player, op);
    if (may && certainty != XFW_LOW)
        wait_later(flow, state, player, op);
    else if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE &&
             xfw_flow_stream(state, op->stream)->moved)
        xfw_player_stream_after(player, op->stream, xfw_all_done(player, op->stream));
}
