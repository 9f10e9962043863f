#include "analyzer/whatif/changes/split.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/asked.h"
#include "analyzer/whatif/changes/both_ways.h"

/* Streams beside the process's. */
enum side { UP, DOWN, MARK };

enum step { TO_DEVICE, COMPUTE, TO_HOST };

/* One of the process's streams. */
struct lane {
    bool cut; /* anything of it was */
    enum step step;
    double before;                   /* the group at hand begins when that is done */
    double copied[XFW_MOST_PARTS];   /* to the device, by part */
    double computed[XFW_MOST_PARTS]; /* or copied, where there was no kernel yet */
};

struct state {
    struct lane *lanes;
    size_t count, capacity;
    struct xfw_both_ways both_ways;
    struct xfw_asked_times whole, part; /* of copies */
};

struct split {
    struct xfw_change change;
    unsigned parts;
};

static struct lane *lane_of(struct state *state, uint32_t stream)
{
    state->lanes =
        xfa_grown(state->lanes, &state->capacity, &state->count, stream, sizeof *state->lanes);
    return &state->lanes[stream];
}

static double end_of(struct xfw_player *player, uint32_t stream)
{
    return xfw_schedule_stream_end(xfw_player_schedule(player), stream);
}

/* All that the stream was given so far. */
static double all_of(struct xfw_player *player, uint32_t stream)
{
    double up = end_of(player, xfw_player_side_stream(player, stream, UP));
    double down = end_of(player, xfw_player_side_stream(player, stream, DOWN));
    return xfw_max(end_of(player, stream), xfw_max(up, down));
}

/* ---- what can be cut ------------------------------------------------------------------------- */

static bool is_copy(const struct split *split, const struct xfw_op *op)
{
    if (op->what != XFW_COPY || op->class == XFW_NONE || op->awaits != XFW_AWAITS_NOTHING ||
        (op->engine != XFW_TO_DEVICE && op->engine != XFW_TO_HOST))
        return false;
    const struct xfa_class *class = xfa_class_at(&split->change.analysis->classes, op->class);
    return !xfa_row_pageable(&class->key.row) && class->key.shape == XFA_LINEAR &&
           op->bytes / split->parts >= XFW_LEAST_PART;
}

static bool is_kernel(const struct split *split, const struct xfw_op *op)
{
    return op->what == XFW_KERNEL && op->threads / split->parts >= XFW_LEAST_THREADS;
}

/* A part of a copy, or of a kernel. */
static double part_ns(const struct split *split, struct state *state, const struct xfw_op *op)
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

/* ---- parts ----------------------------------------------------------------------------------- */

static void begin_group(const struct split *split, struct xfw_player *player, struct lane *lane,
                        const struct xfw_op *op, enum step step)
{
    if (step == TO_DEVICE && (!lane->cut || lane->step != TO_DEVICE)) {
        lane->before = all_of(player, op->stream);
        for (unsigned i = 0; i < split->parts; i++)
            lane->copied[i] = lane->computed[i] = lane->before;
    }
    lane->step = step;
    lane->cut = true;
}

/* Plays all parts of the op, each when `ready` says; ends[]: when they are done. The op goes. */
static void play_parts(const struct split *split, struct state *state, struct xfw_player *player,
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
        ends[i] = xfw_max(ends[i], end_of(player, stream));
        part.gap_ns = 0;
    }
    xfw_player_moved(player, op->stream, stream);
    xfw_op_drop(op);
    op->gap_ns = 0;
}

static void cut_copy(const struct split *split, struct state *state, struct xfw_player *player,
                     struct xfw_op *op)
{
    bool up = op->engine == XFW_TO_DEVICE;
    struct lane *lane = lane_of(state, op->stream);
    double ready[XFW_MOST_PARTS], ends[XFW_MOST_PARTS] = {0};
    if (!lane->cut && !up)
        for (unsigned i = 0; i < split->parts; i++)
            lane->computed[i] = all_of(player, op->stream);
    begin_group(split, player, lane, op, up ? TO_DEVICE : TO_HOST);
    for (unsigned i = 0; i < split->parts; i++)
        ready[i] = up ? lane->before : xfw_max(lane->copied[i], lane->computed[i]);
    op->both_ways =
        xfw_both_ways(&state->both_ways, split->change.analysis, xfw_player_certainty(player), op);
    play_parts(split, state, player, op, xfw_player_side_stream(player, op->stream, up ? UP : DOWN),
               ready, ends);
    for (unsigned i = 0; i < split->parts && up; i++)
        lane->copied[i] = xfw_max(lane->copied[i], ends[i]);
}

static void cut_kernel(const struct split *split, struct state *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    struct lane *lane = lane_of(state, op->stream);
    begin_group(split, player, lane, op, COMPUTE);
    play_parts(split, state, player, op, op->stream, lane->copied, lane->computed);
}

/* What is in one piece waits for all, and all that comes for it. */
static void keep_whole(const struct split *split, struct state *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    struct lane *lane = lane_of(state, op->stream);
    if (!lane->cut)
        return;
    xfw_player_stream_after(player, op->stream, all_of(player, op->stream));
    if (op->awaits != XFW_AWAITS_NOTHING) { /* the host waits, too: a new group begins */
        lane->step = TO_HOST;
        return;
    }
    struct xfw_op whole = *op;
    whole.made_up = true;
    xfw_player_play(player, &whole);
    xfw_op_drop(op);
    op->gap_ns = 0;
    for (unsigned i = 0; i < split->parts; i++)
        lane->copied[i] = lane->computed[i] = end_of(player, op->stream);
    lane->step = COMPUTE;
}

/* ---- events and waits ------------------------------------------------------------------------ */

static void wait_for_event(struct xfw_player *player, const struct xfw_op *op)
{
    for (enum side side = UP; side <= DOWN; side++) {
        struct xfw_op wait = xfw_op_like(op);
        wait.what = XFW_WAIT;
        wait.event = op->event;
        wait.stream = xfw_player_side_stream(player, op->stream, side);
        xfw_player_play(player, &wait);
    }
}

static void record(struct xfw_player *player, struct xfw_op *op)
{
    uint32_t mark = xfw_player_side_stream(player, op->stream, MARK);
    xfw_player_stream_after(player, mark, all_of(player, op->stream));
    op->stream = mark;
}

static void take_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct split *split = (const struct split *)change;
    struct state *state = self;
    if (op->stream == XFW_NONE || xfw_player_certainty(player) == XFW_LOW)
        return;
    if (is_copy(split, op))
        cut_copy(split, state, player, op);
    else if (is_kernel(split, op) && lane_of(state, op->stream)->cut)
        cut_kernel(split, state, player, op);
    else if (xfw_op_is_work(op))
        keep_whole(split, state, player, op);
    else if (op->what == XFW_WAIT)
        wait_for_event(player, op);
    else if (op->what == XFW_RECORD && lane_of(state, op->stream)->cut)
        record(player, op);
    else if (op->awaits == XFW_AWAITS_STREAM && lane_of(state, op->stream)->cut)
        xfw_player_stream_after(player, op->stream, all_of(player, op->stream));
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(((struct state *)self)->lanes);
}

struct xfw_change *xfw_change_split(const struct xfa_analysis *analysis, unsigned parts)
{
    static const struct xfw_change_type type = {
        .name = "split", .state_bytes = sizeof(struct state), .op = take_op, .end = end};
    struct split *split = xfa_alloc(sizeof *split);
    *split = (struct split){
        .change = {.type = &type,
                   .analysis = analysis,
                   .family = "split",
                   .least_part = XFW_SPLIT_LEAST},
        .parts = parts,
    };
    return &split->change;
}
