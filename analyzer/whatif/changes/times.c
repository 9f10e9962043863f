#include "analyzer/whatif/changes/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/reuse.h"

#define MANY_TIMES 4

struct times {
    struct xfw_change change;
    struct xfw_times_terms terms;
    struct paths {
        const struct xfp_path *to, *from;
    } * paths; /* by class */
    size_t count;
};

struct state {
    struct xfw_set locked; /* buffers */
    bool set_up;           /* XFW_STAGE */
    struct xfw_reuse reuse;
};

/* ---- what it costs --------------------------------------------------------------------------- */

static uint64_t bytes_to_lock(const struct times *times, struct state *state,
                              struct xfw_player *player, const struct xfw_host_memory *host)
{
    uint32_t process = xfw_player_process(player)->number;
    if (times->terms.pinning != XFW_PIN_ONCE || !times->terms.buffers)
        return host->bytes;
    size_t at = xfw_buffers_find(times->terms.buffers, process, host->first);
    if (at == SIZE_MAX)
        return host->bytes;
    if (xfw_set_has(&state->locked, (uint32_t)at))
        return 0;
    xfw_set_add(&state->locked, (uint32_t)at);
    const struct xfw_buffer *buffer = &times->terms.buffers->processes[process].items[at];
    return buffer->end - buffer->first;
}

/* Undoing it is paid at once: what counts is the sum. */
static void pay(const struct times *times, struct state *state, struct xfw_player *player,
                const struct xfw_op *op, const struct xfw_host_memory *host)
{
    uint64_t bytes = bytes_to_lock(times, state, player, host);
    if (bytes == 0)
        return;
    struct xfw_op lock = xfw_op_like(op);
    lock.kind = XFT_EVENT_REGISTER;
    lock.bytes = bytes;
    lock.own_ns = xfw_registration_cost(&times->change.analysis->achievable, host->node, op->gpu,
                                        bytes, xfw_player_certainty(player), NULL);
    xfw_player_play(player, &lock);
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* As much less as the one path takes less than the other; just what it takes, where the other was
 * not measured. */
static void scale(struct state *state, const struct paths *paths, struct xfw_player *player,
                  struct xfw_op *op)
{
    static const enum xfw_certainty opposite[] = {XFW_HIGH, XFW_LIKELY, XFW_LOW};
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost to = xfw_asked_cost(&state->reuse.asked, paths->to, op->bytes, certainty);
    struct xfw_copy_cost from =
        xfw_asked_cost(&state->reuse.asked, paths->from, op->bytes, opposite[certainty]);
    if (!to.known)
        return;
    if (op->duration_ns > 0)
        op->duration_ns =
            from.known ? op->duration_ns * to.device_ns / from.device_ns : to.device_ns;
    else if (op->awaits == XFW_AWAITS_NOTHING &&
             from.known) /* the call's own time is all we know */
        op->own_ns *= to.device_ns / from.device_ns;
    if (op->engine == XFW_PEER) /* by way of the host the call itself begins to copy */
        op->own_ns = fmin(op->own_ns, to.submit_ns);
}

/* A copy that took many times what such copies take had other reasons (the first one sets the
 * driver's buffers up): those stay, behind the thread's own time. */
static void keep_other_reasons(const struct times *times, struct state *state,
                               struct xfw_player *player, struct xfw_op *op,
                               const struct xfw_host_memory *host)
{
    const struct xfp_path *path =
        xfw_asked_path(&state->reuse.asked, &times->change.analysis->achievable,
                       host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D, (enum xft_memory)host->memory,
                       host->node, op->gpu);
    struct xfw_copy_cost usual = xfw_asked_cost(&state->reuse.asked, path, op->bytes, XFW_LIKELY);
    if (!usual.known || xfw_op_took(op) <= MANY_TIMES * usual.blocking_ns)
        return;
    struct xfw_op other = xfw_op_like(op);
    xfw_op_take_gap(&other, op);
    other.own_ns = xfw_op_took(op) - usual.blocking_ns;
    xfw_player_play(player, &other);
}

static void stage(const struct times *times, struct state *state, struct xfw_player *player,
                  struct xfw_op *op, const struct xfp_path *path)
{
    struct xfw_host_memory host;
    struct xfw_staging staging =
        xfw_staging_cost(&times->change.analysis->achievable, path, op->bytes, times->terms.threads,
                         xfw_player_certainty(player));
    if (!staging.known || !xfw_host_memory(times->change.analysis, op, &host))
        return;
    keep_other_reasons(times, state, player, op, &host);
    if (!state->set_up) {
        struct xfw_op set_up = xfw_op_like(op);
        set_up.own_ns = xfw_staging_setup(&times->change.analysis->achievable, op->gpu,
                                          times->terms.threads, xfw_player_certainty(player));
        xfw_player_play(player, &set_up);
        state->set_up = true;
    }
    op->latency_ns = staging.first_ns;
    op->duration_ns = staging.during_ns;
    op->wake_ns = staging.last_ns;
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = 0;
}

static void block(struct xfw_op *op, const struct xfw_copy_cost *cost)
{
    op->latency_ns = op->wake_ns = (cost->blocking_ns - cost->device_ns) / 2;
    op->duration_ns = cost->device_ns;
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = 0;
}

static void submit(struct xfw_op *op, const struct xfw_copy_cost *cost)
{
    op->latency_ns = (cost->blocking_ns - cost->device_ns) / 2;
    op->duration_ns = cost->device_ns;
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = cost->submit_ns;
    op->wake_ns = 0;
}

static void lock(const struct times *times, struct state *state, struct xfw_player *player,
                 struct xfw_op *op, const struct xfp_path *to)
{
    struct xfw_host_memory host;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost cost = xfw_asked_cost(&state->reuse.asked, to, op->bytes, certainty);
    if (!cost.known || !xfw_host_memory(times->change.analysis, op, &host))
        return;
    keep_other_reasons(times, state, player, op, &host);
    pay(times, state, player, op, &host);
    const struct xfa_class *class = xfa_class_at(&times->change.analysis->classes, op->class);
    bool asynchronous = class->key.row.async || times->terms.asynchronous;
    if (!asynchronous || certainty == XFW_LOW) {
        block(op, &cost);
    } else {
        submit(op, &cost);
        xfw_reuse_add(&state->reuse, &times->change, player, op, &host);
    }
}

/* Copies of rows only where a change has made one piece of them. */
static bool can_be(const struct times *times, const struct xfw_op *op)
{
    struct xfw_host_memory host;
    return times->terms.pinning == XFW_MOVED || xfw_host_memory(times->change.analysis, op, &host);
}

static void change_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct times *times = (const struct times *)change;
    struct state *state = self;
    xfw_reuse_meet(&state->reuse, change, player, op);
    if (op->what != XFW_COPY || op->class >= times->count || !times->paths[op->class].to)
        return;
    const struct paths *paths = &times->paths[op->class];
    if (!can_be(times, op) || !xfw_player_take(player, op))
        return;
    op->path = times->terms.pinning == XFW_STAGE ? NULL : paths->to;
    if (times->terms.pinning == XFW_STAGE)
        stage(times, state, player, op, paths->to);
    else if (times->terms.pinning == XFW_MOVED)
        scale(state, paths, player, op);
    else
        lock(times, state, player, op, paths->to);
}

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    (void)change;
    xfw_set_free(&state->locked);
}

static void release(struct xfw_change *change)
{
    free(((struct times *)change)->paths);
}

static const struct xfw_change_type type = {
    .name = "times",
    .state_bytes = sizeof(struct state),
    .op = change_op,
    .end = end,
    .free = release,
};

struct xfw_change *xfw_change_times(const struct xfa_analysis *analysis,
                                    const struct xfw_new_path *paths, size_t count,
                                    const struct xfw_times_terms *terms)
{
    struct times *times = xfa_alloc(sizeof *times);
    times->change = (struct xfw_change){
        .type = &type,
        .analysis = analysis,
        .shares = terms->pinning == XFW_MOVED ? XFW_WHOLE : XFW_IN_PARTS,
    };
    times->terms = *terms;
    for (size_t i = 0; i < count; i++)
        times->count = paths[i].class >= times->count ? (size_t)paths[i].class + 1 : times->count;
    times->paths = xfa_alloc((times->count + 1) * sizeof *times->paths);
    for (size_t i = 0; i < count; i++)
        times->paths[paths[i].class] = (struct paths){paths[i].to, paths[i].from};
    return &times->change;
}
