#include "analyzer/whatif/changes/gpu_threads.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/gpu_lanes.h"
#include "xferscope/trace.h"

/* A thread of the program's. Until it has given work to a second GPU it has one lane. */
struct server {
    uint32_t thread;               /* key */
    unsigned count;                /* of lanes; 0: it has given no work */
    unsigned at;                   /* the lane of its last op */
    unsigned meets;                /* a bit for each lane that waits until that op is over */
    bool waited, staged;           /* that op waits for work; has read what it sends */
    int gpu;                       /* of that op; -1: of none, or all */
    double worked_ns, ready_ns;    /* the first work's call; the last call for no GPU was over */
    double ready_of_ns[XFW_LANES]; /* the last call for each of the run's first GPUs was */
    struct xfw_lane *lanes[XFW_LANES];
};

/* Memory, or a CUDA event, and whose lane used it last. */
struct used {
    uint64_t what; /* key */
    uint32_t thread;
};

struct gpu_threads {
    struct xfa_table servers, memory, events;
    struct xfw_memories memories;
    uint32_t made; /* lanes with numbers of their own */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct gpu_threads *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->servers, sizeof(uint32_t), sizeof(struct server));
    xfa_table_init(&state->memory, sizeof(uint64_t), sizeof(struct used));
    xfa_table_init(&state->events, sizeof(uint64_t), sizeof(struct used));
}

static void end(const struct xfw_change *change, void *self)
{
    struct gpu_threads *state = self;
    (void)change;
    for (size_t i = 0; i < state->servers.count; i++) {
        struct server *server = xfa_table_at(&state->servers, i);
        for (unsigned k = 0; k < server->count; k++)
            free(server->lanes[k]);
    }
    xfa_table_free(&state->servers);
    xfa_table_free(&state->memory);
    xfa_table_free(&state->events);
    xfw_memories_free(&state->memories);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static double now_of(const struct xfw_player *player, const struct xfw_lane *lane)
{
    return xfw_max(lane->after_ns,
                   xfw_schedule_thread_now(xfw_player_schedule(player), lane->thread));
}

/* The latest of those that have a bit. */
static double now_of_all(const struct xfw_player *player, const struct server *server,
                         unsigned lanes)
{
    double now = 0;
    for (unsigned i = 0; i < server->count; i++)
        if (lanes >> i & 1)
            now = xfw_max(now, now_of(player, server->lanes[i]));
    return now;
}

static unsigned all_of(const struct server *server)
{
    return (1u << server->count) - 1;
}

/* Which one serves the op's GPU; the last one where the op is for none. */
static unsigned lane_for(const struct server *server, const struct xfw_op *op)
{
    for (unsigned i = 0; i < server->count && op->gpu >= 0 && xfw_op_is_call(op); i++)
        if (server->lanes[i]->gpu == op->gpu)
            return i;
    return server->at;
}

static void make_lane(struct gpu_threads *state, struct server *server, const struct xfw_op *op,
                      double now)
{
    struct xfw_lane *lane = server->lanes[server->count] = xfa_alloc(sizeof *lane);
    bool first = server->count == 0;
    lane->gpu = op->gpu;
    lane->thread = first ? server->thread : XFW_FIRST_LANE + state->made++;
    lane->after_ns = now;
    server->count++;
}

/* The call before is over. */
static void note_ready(struct server *server, const struct xfw_player *player)
{
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), server->thread);
    if (server->count > 0)
        now = now_of(player, server->lanes[server->at]);
    if (server->gpu >= 0 && server->gpu < XFW_LANES)
        server->ready_of_ns[server->gpu] = now;
    else
        server->ready_ns = now;
}

/* What was called for the GPU before its first work set it up. */
static double ready_for(const struct server *server, int gpu)
{
    double ready = xfw_max(server->worked_ns, server->ready_ns);
    return gpu < XFW_LANES ? xfw_max(ready, server->ready_of_ns[gpu]) : ready;
}

/* The first work for another GPU: that has a thread of its own, from the first work for any on, or
 * since it was set up. */
static void meet_gpu(struct gpu_threads *state, struct server *server, const struct xfw_op *op,
                     const struct xfw_player *player)
{
    if (!xfw_op_is_work(op) || op->gpu < 0 || server->count == XFW_LANES)
        return;
    for (unsigned i = 0; i < server->count; i++)
        if (server->lanes[i]->gpu == op->gpu)
            return;
    if (server->count == 0) {
        server->worked_ns = xfw_schedule_begins(xfw_player_schedule(player), op);
        make_lane(state, server, op, 0);
    } else if (state->made < XFW_MOST_LANES) {
        make_lane(state, server, op, ready_for(server, op->gpu));
    }
}

/* The lanes that waited for the op before go on behind it. */
static void end_meeting(struct server *server, const struct xfw_player *player)
{
    const double now = now_of(player, server->lanes[server->at]);
    for (unsigned i = 0; i < server->count; i++)
        if (i != server->at && server->meets >> i & 1)
            server->lanes[i]->after_ns = xfw_max(server->lanes[i]->after_ns, now);
    server->meets = 0;
}

/* ---- what lanes share ------------------------------------------------------------------------ */

static unsigned lane_of_thread(const struct server *server, uint32_t thread)
{
    for (unsigned i = 0; i < server->count; i++)
        if (server->lanes[i]->thread == thread)
            return 1u << i;
    return 0;
}

/* A lane of the server that used it last; it is this one's from now on. */
static unsigned use(struct xfa_table *table, uint64_t what, const struct server *server,
                    unsigned lane)
{
    struct used *used = xfa_table_get(table, &what);
    unsigned before = used ? lane_of_thread(server, used->thread) : 0;
    if (!used)
        used = xfa_table_put(table, &what);
    used->thread = server->lanes[lane]->thread;
    return before;
}

static unsigned use_memory(struct gpu_threads *state, uint64_t address, const struct server *server,
                           unsigned lane)
{
    struct xfw_memory memory;
    if (address == 0)
        return 0;
    if (xfw_memories_find(&state->memories, address, &memory))
        address = memory.first;
    return use(&state->memory, address, server, lane);
}

/* Lanes whose memory on a device, managed memory or event the op uses. */
static unsigned used_by_others(struct gpu_threads *state, const struct server *server,
                               unsigned lane, const struct xfw_op *op,
                               const struct xfw_player *player)
{
    unsigned lanes = 0;
    uint64_t pointer;
    if (op->event != XFW_NONE)
        lanes |= use(&state->events, op->event, server, lane);
    if (op->what == XFW_KERNEL)
        for (uint32_t k = 0;
             xfw_launch_pointer(xfw_player_process(player), op->arguments, k, &pointer); k++)
            lanes |= use_memory(state, pointer, server, lane);
    if (op->what == XFW_COPY && op->engine != XFW_TO_DEVICE)
        lanes |= use_memory(state, op->src, server, lane);
    if (op->what == XFW_COPY && op->engine != XFW_TO_HOST)
        lanes |= use_memory(state, op->dst, server, lane);
    if (op->what == XFW_SET || op->what == XFW_PREFETCH)
        lanes |= use_memory(state, op->dst, server, lane);
    return lanes & ~(1u << lane);
}

/* Until when other lanes' copies used the memory of the host that this one uses. Memory that only
 * is sent may be another one for each GPU. */
static double copied_by_others(const struct xfw_player *player, const struct server *server,
                               unsigned lane, const struct xfw_op *op, bool best)
{
    double until = 0;
    for (unsigned i = 0; i < server->count; i++)
        if (i != lane)
            until = xfw_max(until, xfw_min(now_of(player, server->lanes[i]),
                                           xfw_lane_shared_until(server->lanes[i], op, !best)));
    return until;
}

/* Several GPUs have a part in it, or others that the program works with. */
static bool concerns_all(const struct xfw_op *op)
{
    return op->last || op->what == XFW_MESSAGE || op->awaits == XFW_AWAITS_RANKS ||
           op->correlation || op->meets || op->woken_by != XFW_NONE || op->woken_by_stream ||
           (op->engine == XFW_PEER && op->peer >= 0 && op->peer != op->gpu);
}

/* ---- the host's own work --------------------------------------------------------------------- */

/* Results are there once the host has waited for anything of their GPU. */
static void note_results(struct xfw_lane *lane, const struct xfw_op *op)
{
    lane->fetching =
        lane->fetching || (op->what == XFW_COPY && op->engine == XFW_TO_HOST && op->bytes > 0);
    if (lane->fetching && op->awaits != XFW_AWAITS_NOTHING) {
        lane->fetching = false;
        lane->fetched = true;
    }
}

static unsigned fetched_of(const struct server *server)
{
    unsigned lanes = 0;
    for (unsigned i = 0; i < server->count; i++)
        lanes |= server->lanes[i]->fetched ? 1u << i : 0;
    return lanes;
}

static void look_at(const struct server *server, unsigned lanes)
{
    for (unsigned i = 0; i < server->count; i++)
        if (lanes >> i & 1)
            server->lanes[i]->fetched = false;
}

/* The call gives the GPU what the host may just have made. */
static bool sends(const struct xfw_op *op)
{
    return xfw_op_is_work(op) && !(op->what == XFW_COPY && op->engine != XFW_TO_DEVICE);
}

/* Whose is the thread's own time before the op? That of the lane it is in; where the lane before
 * has just fetched results, and the op sends nothing, that one's. As likely it needs all results
 * that nobody has looked at, and those whose they are wait for it: the result. */
static unsigned work_of_host(const struct server *server, unsigned lane, struct xfw_op *op,
                             const struct xfw_player *player, bool best)
{
    const unsigned own = 1u << lane, before = 1u << server->at, fetched = fetched_of(server);
    if (op->gap_ns <= XFW_BUSY_NS || !fetched)
        return 0;
    if (lane != server->at && (fetched & before) && !sends(op) && (best || fetched == before)) {
        struct xfw_lane *of = server->lanes[server->at];
        of->after_ns = now_of(player, of) + op->gap_ns;
        op->gap_ns = 0;
        look_at(server, before);
        return 0;
    }
    look_at(server, best ? own : fetched);
    return best || fetched == own ? 0 : fetched & ~own;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* The lane is where `now` says before the op begins, waiting; a new one begins there. */
static void wait_until(const struct server *server, const struct xfw_op *op, double now,
                       struct xfw_player *player)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    struct xfw_op wait = xfw_op_like(op);
    const double there = xfw_schedule_thread_now(schedule, op->thread);
    if (xfw_schedule_has_begun(schedule, op->thread)) {
        wait.gap_ns = now - there;
    } else if (op->thread != server->thread) {
        wait.woken_by = server->thread;
        wait.woken_after_ns = now - xfw_schedule_thread_now(schedule, server->thread);
    } else {
        return;
    }
    if (now > there)
        xfw_player_play(player, &wait);
}

/* The driver lets in one thread at a time: so a call is longer by what is left of another one's. */
static void share_driver(const struct server *server, unsigned lane, struct xfw_op *op,
                         const struct xfw_player *player)
{
    const double from = xfw_schedule_begins(xfw_player_schedule(player), op);
    double wait = 0;
    if (!xfw_op_is_call(op) || (!xfw_op_submits(op) && !xfw_holds(op->kind)))
        return;
    for (unsigned i = 0; i < server->count; i++)
        if (i != lane)
            wait = xfw_max(wait, xfw_lane_holds_up(server->lanes[i], from));
    xfw_lane_note_call(server->lanes[lane], from + wait, from + wait + op->own_ns);
    op->own_ns += wait;
    if (xfw_op_is_work(op))
        op->latency_ns += wait;
}

/* A copy of pageable memory to a device has read it when its call returns. */
static bool is_staged(const struct xfa_analysis *analysis, const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->engine == XFW_TO_DEVICE && op->class != XFW_NONE &&
           xfa_row_pageable(&xfa_class_key_at(&analysis->classes, op->class)->row);
}

static void serve(const struct xfw_change *change, struct gpu_threads *state, struct server *server,
                  struct xfw_op *op, struct xfw_player *player, bool best)
{
    const unsigned lane = lane_for(server, op), own = 1u << lane;
    const bool meeting = concerns_all(op);
    unsigned held = meeting ? all_of(server) & ~own : 0;
    unsigned behind = used_by_others(state, server, lane, op, player) | held;
    const double copied = copied_by_others(player, server, lane, op, best);
    if (!meeting)
        held = work_of_host(server, lane, op, player, best);
    behind |= held;
    op->thread = server->lanes[lane]->thread;
    double now = xfw_max(now_of_all(player, server, own | behind), copied);
    if (now > now_of(player, server->lanes[lane]))
        now += XFW_LANE_MEET_NS;
    wait_until(server, op, now, player);
    xfw_lane_note_copy(server->lanes[lane], op);
    note_results(server->lanes[lane], op);
    share_driver(server, lane, op, player);
    if (held && !meeting) { /* for the work of the host, not for the call */
        const double over = xfw_schedule_begins(xfw_player_schedule(player), op);
        for (unsigned i = 0; i < server->count; i++)
            if (held >> i & 1)
                server->lanes[i]->after_ns = xfw_max(server->lanes[i]->after_ns, over);
    }
    server->meets = meeting ? held : 0;
    server->waited = op->awaits != XFW_AWAITS_NOTHING;
    server->staged = is_staged(change->analysis, op);
    server->at = lane;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct gpu_threads *state = self;
    const enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->thread >= XFW_FIRST_LANE || (certainty == XFW_LOW && !change->assured))
        return;
    xfw_memories_op(&state->memories, op);
    struct server *by =
        op->woken_by < XFW_FIRST_LANE ? xfa_table_get(&state->servers, &op->woken_by) : NULL;
    if (by && by->count > 1)
        op->woken_by = by->lanes[by->at]->thread;
    struct server *server = xfa_table_put(&state->servers, &op->thread);
    note_ready(server, player);
    server->gpu = op->gpu;
    if (server->count > 0 && (server->waited || server->staged))
        xfw_lane_copied(server->lanes[server->at], now_of(player, server->lanes[server->at]),
                        server->waited);
    if (server->count > 1)
        end_meeting(server, player);
    meet_gpu(state, server, op, player);
    if (server->count > 0)
        serve(change, state, server, op, player, certainty == XFW_HIGH || change->assured);
}

static double begins(const struct xfw_change *change, const void *self,
                     const struct xfw_player *player, const struct xfw_op *op, double begins)
{
    const struct gpu_threads *state = self;
    const struct server *server = xfa_table_get(&state->servers, &op->thread);
    (void)change;
    if (!server || server->count < 2 || op->woken_by != XFW_NONE || op->woken_by_stream)
        return begins;
    return now_of(player, server->lanes[lane_for(server, op)]) + op->gap_ns;
}

struct xfw_change *xfw_change_gpu_threads(const struct xfa_analysis *analysis)
{
    static const struct xfw_change_type type = {
        .name = "gpu threads",
        .state_bytes = sizeof(struct gpu_threads),
        .begin = begin,
        .op = op,
        .begins = begins,
        .end = end,
    };
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, NULL);
    change->first = true; /* others have the threads as they are then */
    change->least_part = XFW_TURNS_LEAST;
    change->of_span = true;
    change->from = XFW_LIKELY;
    return change;
}
