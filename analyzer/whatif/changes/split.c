/*
 * split: copies and the kernels behind them are cut into parts of the same size, so that a part is
 * copied while the part before it computes.
 */
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/overlap.h"
#include "analyzer/whatif/changes/spans.h"
#include "xferscope/trace.h"

/* ---- side streams (overlap.h) ---------------------------------------------------------------- */

static double end_of(struct xfw_player *player, uint32_t stream)
{
    return xfw_schedule_stream_end(xfw_player_schedule(player), stream);
}

double xfw_all_done(struct xfw_player *player, uint32_t stream)
{
    double up = end_of(player, xfw_player_side_stream(player, stream, XFW_SIDE_UP));
    double down = end_of(player, xfw_player_side_stream(player, stream, XFW_SIDE_DOWN));
    double calls = end_of(player, xfw_player_side_stream(player, stream, XFW_SIDE_CALLS));
    return xfw_max(xfw_max(end_of(player, stream), calls), xfw_max(up, down));
}

void xfw_all_later(struct xfw_player *player, uint32_t stream, double ns)
{
    const uint32_t all[] = {stream, xfw_player_side_stream(player, stream, XFW_SIDE_UP),
                            xfw_player_side_stream(player, stream, XFW_SIDE_DOWN),
                            xfw_player_side_stream(player, stream, XFW_SIDE_CALLS)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        xfw_player_stream_after(player, all[i], end_of(player, all[i]) + ns);
}

void xfw_record_behind_all(struct xfw_player *player, struct xfw_op *op)
{
    uint32_t mark = xfw_player_side_stream(player, op->stream, XFW_SIDE_MARK);
    xfw_player_stream_after(player, mark, xfw_all_done(player, op->stream));
    op->stream = mark;
}

void xfw_wait_with_sides(struct xfw_player *player, const struct xfw_op *op)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.what = XFW_WAIT;
    wait.event = op->event;
    for (enum xfw_side side = XFW_SIDE_UP; side <= XFW_SIDE_CALLS; side++) {
        wait.stream = xfw_player_side_stream(player, op->stream, side);
        xfw_player_play(player, &wait);
    }
}

/* ---- launched graphs (overlap.h) --------------------------------------------------------------
 */

bool xfw_is_graph_cut(const struct xfw_player *player, const struct xfw_op *op)
{
    return op->what == XFW_GRAPH && xfw_player_certainty(player) != XFW_LOW &&
           op->up_ns + op->down_ns > 0 && op->up_ns + op->down_ns <= op->duration_ns;
}

struct xfw_op xfw_part_of_graph(const struct xfw_op *op, enum xfw_engine engine, double ns)
{
    struct xfw_op part = xfw_op_like(op);
    part.what = XFW_COPY;
    part.engine = (uint8_t)engine;
    part.exclusive = true;
    part.one_engine = op->one_engine;
    part.stream_kind = XFW_NONBLOCKING;
    part.duration_ns = ns;
    return part;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* One of the process's streams, whose work is cut. */
struct cut_stream {
    bool cut; /* some of its work was */
    enum xfw_stage stage;
    double before;                   /* when the group at hand may begin */
    double copied[XFW_MOST_PARTS];   /* to the device, by part */
    double computed[XFW_MOST_PARTS]; /* or copied, where there was no kernel yet */
};

/* Calls for the other parts take no longer: a kernel is loaded once, by its first launch. */
#define MOST_SUBMIT_NS (2 * XFW_SUBMIT_NS)

struct cuts {
    struct cut_stream *streams;
    size_t count, capacity;
    struct xfw_slowdowns slowdowns;
    struct xfw_asked_times whole, part; /* of copies */
};

struct split {
    struct xfw_change change;
    unsigned parts;
};

static struct cut_stream *cut_stream_of(struct cuts *state, uint32_t number)
{
    state->streams =
        xfa_grown(state->streams, &state->capacity, &state->count, number, sizeof *state->streams);
    return &state->streams[number];
}

static bool can_cut(const struct split *split, const struct xfa_class *class, uint64_t bytes)
{
    return !xfa_row_pageable(&class->key.row) && class->key.shape == XFA_LINEAR &&
           bytes / split->parts >= XFW_LEAST_PART;
}

static bool can_cut_copy(const struct split *split, const struct xfw_op *op)
{
    return xfw_is_copy_with_host(op->what, op->engine) && op->class != XFW_NONE &&
           op->awaits == XFW_AWAITS_NOTHING &&
           can_cut(split, xfa_class_at(&split->change.analysis->classes, op->class), op->bytes);
}

/* Nothing is cut before a copy was. */
static bool is_idle(const struct split *split)
{
    const struct xfa_analysis *analysis = split->change.analysis;
    for (uint32_t i = 0; i < analysis->classes.classes.count; i++) {
        const struct xfa_figures *figures = xfa_rows_class(&analysis->of_classes, i);
        if (can_cut(split, xfa_class_at(&analysis->classes, i), figures->largest))
            return false;
    }
    return true;
}

static bool can_cut_kernel(const struct split *split, const struct xfw_op *op)
{
    return op->what == XFW_KERNEL && op->threads / split->parts >= XFW_LEAST_THREADS;
}

/* A part of a copy, or of a kernel. */
static double part_ns(const struct split *split, struct cuts *state, const struct xfw_op *op)
{
    double share = op->duration_ns / split->parts;
    if (op->what == XFW_KERNEL)
        return share + XFW_LAUNCHED_NS;
    const struct xfa_class *class = xfa_class_at(&split->change.analysis->classes, op->class);
    struct xfp_estimate all = xfw_asked_time(&state->whole, class, op->bytes)->time;
    struct xfp_estimate part = xfw_asked_time(&state->part, class, op->bytes / split->parts)->time;
    bool known = all.basis != XFP_UNKNOWN && part.basis != XFP_UNKNOWN;
    return share + (known ? xfw_max(0, part.ns - all.ns / split->parts) : 0);
}

static void begin_group(const struct split *split, struct xfw_player *player,
                        struct cut_stream *stream, const struct xfw_op *op, enum xfw_stage stage)
{
    if (stage == XFW_STAGE_TO_DEVICE && (!stream->cut || stream->stage != XFW_STAGE_TO_DEVICE)) {
        stream->before = xfw_all_done(player, op->stream);
        for (unsigned i = 0; i < split->parts; i++)
            stream->copied[i] = stream->computed[i] = stream->before;
    }
    stream->stage = stage;
    stream->cut = true;
}

/* Plays all parts of the op, each when it is ready; ends[]: when they are done. The op goes. */
static void play_parts(const struct split *split, struct cuts *state, struct xfw_player *player,
                       struct xfw_op *op, uint32_t stream, const double *ready, double *ends)
{
    struct xfw_op part = *op;
    part.made_up = true;
    part.stream = stream;
    part.stream_kind = stream == op->stream ? op->stream_kind : XFW_NONBLOCKING;
    part.duration_ns = part_ns(split, state, op);
    part.bytes = op->bytes / split->parts;
    for (unsigned i = 0; i < split->parts; i++) {
        xfw_player_stream_after(player, stream, ready[i]);
        xfw_player_play(player, &part);
        ends[i] = xfw_max(ends[i], xfw_schedule_stream_end(xfw_player_schedule(player), stream));
        part.gap_ns = 0;
        part.own_ns = xfw_min(part.own_ns, MOST_SUBMIT_NS);
    }
    xfw_player_moved(player, op->stream, stream);
    xfw_op_drop(op);
    op->gap_ns = 0;
}

static void cut_copy(const struct split *split, struct cuts *state, struct xfw_player *player,
                     struct xfw_op *op)
{
    bool up = op->engine == XFW_TO_DEVICE;
    struct cut_stream *stream = cut_stream_of(state, op->stream);
    double ready[XFW_MOST_PARTS] = {0}, ends[XFW_MOST_PARTS] = {0};
    if (!stream->cut && !up)
        for (unsigned i = 0; i < split->parts; i++)
            stream->computed[i] = xfw_all_done(player, op->stream);
    begin_group(split, player, stream, op, up ? XFW_STAGE_TO_DEVICE : XFW_STAGE_TO_HOST);
    for (unsigned i = 0; i < split->parts; i++)
        ready[i] = up ? stream->before : xfw_max(stream->copied[i], stream->computed[i]);
    op->slowdown =
        xfw_slowdown(&state->slowdowns, split->change.analysis, xfw_player_certainty(player), op);
    uint32_t side = xfw_player_side_stream(player, op->stream, up ? XFW_SIDE_UP : XFW_SIDE_DOWN);
    play_parts(split, state, player, op, side, ready, ends);
    for (unsigned i = 0; i < split->parts && up; i++)
        stream->copied[i] = xfw_max(stream->copied[i], ends[i]);
}

static void cut_kernel(const struct split *split, struct cuts *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    struct cut_stream *stream = cut_stream_of(state, op->stream);
    begin_group(split, player, stream, op, XFW_STAGE_COMPUTE);
    play_parts(split, state, player, op, op->stream, stream->copied, stream->computed);
}

/* Work in one piece waits for all parts, and later parts wait for it. */
static void keep_whole(const struct split *split, struct cuts *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    struct cut_stream *stream = cut_stream_of(state, op->stream);
    if (!stream->cut)
        return;
    xfw_player_stream_after(player, op->stream, xfw_all_done(player, op->stream));
    if (op->awaits != XFW_AWAITS_NOTHING) { /* the host waits, too: a new group begins */
        stream->stage = XFW_STAGE_TO_HOST;
        return;
    }
    struct xfw_op whole = *op;
    whole.made_up = true;
    xfw_player_play(player, &whole);
    xfw_op_drop(op);
    op->gap_ns = 0;
    for (unsigned i = 0; i < split->parts; i++)
        stream->copied[i] = stream->computed[i] =
            xfw_schedule_stream_end(xfw_player_schedule(player), op->stream);
    stream->stage = XFW_STAGE_COMPUTE;
}

static void split_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    const struct split *split = (const struct split *)change;
    struct cuts *state = self;
    if (op->stream == XFW_NONE || xfw_op_is_beside(op) || xfw_player_certainty(player) == XFW_LOW)
        return;
    if (can_cut_copy(split, op))
        cut_copy(split, state, player, op);
    else if (can_cut_kernel(split, op) && cut_stream_of(state, op->stream)->cut)
        cut_kernel(split, state, player, op);
    else if (xfw_op_is_work(op))
        keep_whole(split, state, player, op);
    else if (op->what == XFW_WAIT)
        xfw_wait_with_sides(player, op);
    else if (op->what == XFW_RECORD && cut_stream_of(state, op->stream)->cut)
        xfw_record_behind_all(player, op);
    else if (op->awaits == XFW_AWAITS_STREAM && cut_stream_of(state, op->stream)->cut)
        xfw_player_stream_after(player, op->stream, xfw_all_done(player, op->stream));
}

static void split_end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(((struct cuts *)self)->streams);
}

struct xfw_change *xfw_change_split(const struct xfa_analysis *analysis, unsigned parts)
{
    static const struct xfw_change_type type = {
        .name = "split", .state_bytes = sizeof(struct cuts), .op = split_op, .end = split_end};
    struct split *split = xfw_change_new(sizeof *split, &type, analysis, NULL);
    split->change.family = "split";
    split->change.least_part = XFW_SPLIT_LEAST;
    split->change.of_span = true;
    split->parts = parts;
    split->change.idle = is_idle(split);
    return &split->change;
}
