#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/new_memory.h"
#include "analyzer/whatif/changes/pack.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/rows.h"
#include "analyzer/whatif/changes/trials.h"
#include "analyzer/whatif/changes/waits.h"

#define MANY_TIMES 4 /* what such copies take: a guess */

struct times {
    struct xfw_change change;
    struct xfw_times_terms terms;
    struct paths {
        const struct xfp_path *to, *from;
        unsigned turns;
    } * paths; /* by class */
    size_t count;
};

struct times_state {
    struct xfw_set locked;  /* buffers */
    bool set_up;            /* XFW_STAGE, XFW_APPLIED */
    double could_ns;        /* XFW_APPLIED: took copies that could have been faster */
    struct xfa_table tried; /* XFW_APPLIED (trials.h) */
    struct xfw_asked_rows rows;
    struct xfw_buffers brought; /* by rows */
    struct xfw_reuse reuse;
};

/* ---- another path: what it costs ------------------------------------------------------------- */

static uint64_t bytes_to_lock(const struct times *times, struct times_state *state,
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

/* Buffers for each that there is. */
static double buffers_for_one(const struct times *times, const struct xfw_op *op)
{
    unsigned turns = times->paths[op->class].turns;
    return turns > 0 && times->terms.in_flight > turns ? (double)times->terms.in_flight / turns : 1;
}

#define ROWS_SPREAD 2 /* how many times their bytes rows reach on the host, at worst: a guess */

static bool is_rows(const struct xfw_op *op)
{
    return op->row_bytes && !op->in_one;
}

/* Did page faults of the copy's call make the host's memory? */
static bool is_made(const struct times *times, const struct xfw_player *player,
                    const struct xfw_op *op)
{
    return times->terms.made &&
           xfw_marked(times->terms.made, xfw_player_process(player)->number, op->transfer);
}

/* ---- another path: what it takes ------------------------------------------------------------- */

/* Scaled by the ratio of both paths; the new path's time, where the old one was not measured. */
static void scale(struct times_state *state, const struct paths *paths, struct xfw_player *player,
                  struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost to = xfw_asked_cost(&state->reuse.asked, paths->to, op->bytes, certainty);
    struct xfw_copy_cost from =
        xfw_asked_cost(&state->reuse.asked, paths->from, op->bytes, xfw_opposite(certainty));
    if (!to.known)
        return;
    if (op->duration_ns > 0)
        op->duration_ns =
            from.known ? op->duration_ns * to.device_ns / from.device_ns : to.device_ns;
    else if (op->awaits == XFW_AWAITS_NOTHING &&
             from.known) /* the call's own time is all we know */
        op->own_ns *= to.device_ns / from.device_ns;
    if (op->engine == XFW_PEER) /* by way of the host the call itself begins to copy */
        op->own_ns = xfw_min(op->own_ns, to.submit_ns);
}

/* What such a copy takes; NAN: not known. */
static double usual_ns(const struct times *times, struct times_state *state,
                       const struct xfw_op *op, const struct xfw_host_memory *host)
{
    const struct xfp_path *path =
        xfw_asked_path(&state->reuse.asked, &times->change.analysis->achievable,
                       host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D, (enum xft_memory)host->memory,
                       host->node, op->gpu);
    struct xfw_copy_cost usual = xfw_asked_cost(&state->reuse.asked, path, op->bytes, XFW_LIKELY);
    return usual.known ? usual.blocking_ns : NAN;
}

/* Of what other reasons took, page faults that are known to have made the memory. */
static double made_ns(const struct times *times, const struct xfw_player *player,
                      const struct xfw_op *op, const struct xfw_host_memory *host, double usual_ns)
{
    const struct xfw_new_call call = {
        .achievable = &times->change.analysis->achievable,
        .direction = host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D,
        .gpu = op->gpu,
        .bytes = op->bytes,
        .took_ns = xfw_op_took(op),
        .kept_ns = usual_ns,
    };
    return is_made(times, player, op) ? xfw_new_within_ns(&call, xfw_player_certainty(player)) : 0;
}

/* What is left of that: page-locking makes the memory itself, and is paid for; threads that stage
 * make a part each, at worst one after the other. Of apply's stays() says it. */
static double making_left(const struct times *times, const struct xfw_player *player)
{
    if (times->terms.pinning != XFW_STAGE && times->terms.pinning != XFW_APPLIED)
        return 0;
    return times->terms.pinning == XFW_APPLIED || xfw_player_certainty(player) == XFW_LOW
               ? 1
               : xfw_touching_part(&times->change.analysis->achievable, times->terms.threads);
}

/* A copy that took many times what such copies take had other reasons (the first one sets the
 * driver's buffers up; memory that was never touched is made): how much of its time stays. */
static double other_reasons_ns(const struct times *times, struct times_state *state,
                               const struct xfw_player *player, const struct xfw_op *op,
                               const struct xfw_host_memory *host)
{
    double took = xfw_op_took(op), usual = usual_ns(times, state, op, host);
    bool many = took > MANY_TIMES * usual; /* not where that is not known */
    double made = many ? made_ns(times, player, op, host, usual) : 0;
    return many ? xfw_max(0, took - usual - (1 - making_left(times, player)) * made) : 0;
}

/* Of what was brought to the host, the part that its memory did not have before. */
static double new_part(struct xfw_buffers *brought, const struct xfw_player *player,
                       const struct xfw_op *op)
{
    uint64_t bytes =
        xfw_buffers_add(brought, xfw_player_process(player)->number, 0, op->dst, op->bytes);
    return op->bytes ? (double)bytes / (double)op->bytes : 0;
}

/* That time stays, behind the thread's own time. */
static void keep(struct xfw_player *player, struct xfw_op *op, double other_ns)
{
    if (!(other_ns > 0))
        return;
    struct xfw_op other = xfw_op_like(op);
    xfw_op_take_gap(&other, op);
    other.own_ns = other_ns;
    xfw_player_play(player, &other);
}

/* What stays of it where threads of apply copy: they make the memory that was never touched, as
 * fast as they copy. At worst it had another reason. */
static double stays(const struct times *times, const struct xfw_player *player,
                    const struct xfw_host_memory *host)
{
    enum xft_direction direction = host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D;
    if (times->terms.pinning != XFW_APPLIED || xfw_player_certainty(player) == XFW_LOW)
        return 1;
    return xfw_staging_part(&times->change.analysis->achievable, direction, times->terms.threads);
}

static double around_ns(const struct xfw_host_memory *host, enum xfw_certainty certainty)
{
    double ns = host->to_host ? XFW_APPLIED_DOWN_NS : XFW_APPLIED_UP_NS;
    return certainty == XFW_LOW ? 2 * ns : certainty == XFW_LIKELY ? ns : 0;
}

/* Does apply leave the copy as the program asked? A large one is tried in parts of itself. */
static bool is_left(struct times_state *state, const struct xfw_op *op,
                    const struct xfw_staging *staging, double other_ns)
{
    double takes_ns = other_ns + staging->first_ns + staging->during_ns + staging->last_ns;
    double took_ns = xfw_op_took(op), bytes = (double)op->bytes;
    bool large = op->bytes >= XFW_APPLIED_LARGE;
    bool started = state->could_ns + (large ? took_ns : 0) >= XFW_APPLIED_START_NS;
    state->could_ns += took_ns;
    if (!started)
        return true;
    if (large)
        return takes_ns >= XFW_APPLIED_WORTH * took_ns;
    return !xfw_trials_next(xfw_trials_of(&state->tried, op->class, op->bytes), false,
                            took_ns / bytes, takes_ns / bytes);
}

static void make_staged(const struct times *times, struct times_state *state,
                        struct xfw_player *player, struct xfw_op *op, const struct xfp_path *path)
{
    struct xfw_host_memory host;
    uint64_t piece = times->terms.pinning == XFW_APPLIED ? xfw_applied_piece(op->bytes)
                                                         : xfw_staging_piece(op->bytes);
    struct xfw_staging staging =
        xfw_staging_cost(&times->change.analysis->achievable, path, op->bytes, piece,
                         times->terms.threads, xfw_player_certainty(player));
    if (!staging.known || !xfw_host_memory(times->change.analysis, op, &host))
        return;
    if (times->terms.pinning == XFW_APPLIED)
        staging.first_ns += around_ns(&host, xfw_player_certainty(player));
    double other_ns =
        stays(times, player, &host) * other_reasons_ns(times, state, player, op, &host);
    if (times->terms.pinning == XFW_APPLIED && is_left(state, op, &staging, other_ns))
        return;
    keep(player, op, other_ns);
    if (!state->set_up) {
        struct xfw_op set_up = xfw_op_like(op);
        set_up.own_ns = xfw_staging_setup(&times->change.analysis->achievable, op->gpu,
                                          times->terms.threads, xfw_player_certainty(player));
        xfw_player_play(player, &set_up);
        state->set_up = true;
    }
    op->latency_ns = staging.first_ns;
    op->duration_ns = staging.during_ns;
    op->lead_ns = 0;
    op->wake_ns = staging.last_ns;
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = 0;
}

static void make_async(const struct times *times, struct times_state *state, struct xfw_op *op,
                       const struct xfw_copy_cost *cost, const struct xfw_host_memory *host)
{
    double around = xfw_asked_around(&state->reuse.asked, &times->change.analysis->achievable,
                                     host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D, op->gpu, NAN);
    xfw_copy_is_submitted(op, cost, around);
}

/* What page-locking takes longer that has to make the memory, as the copy did: no longer than that
 * took. */
static double making_ns(const struct times *times, struct times_state *state,
                        const struct xfw_player *player, const struct xfw_op *op,
                        const struct xfw_host_memory *host)
{
    const struct xfa_achievable *achievable = &times->change.analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (!is_made(times, player, op))
        return 0;
    double touching = xfw_touching_ns(achievable, op->bytes, certainty), more = touching;
    if (times->terms.pinning == XFW_PIN_ONCE)
        more = xfw_pinned_new(achievable, host->node, op->gpu, op->bytes, certainty).ns -
               xfw_pinned(achievable, host->node, op->gpu, op->bytes, certainty).ns;
    double usual = usual_ns(times, state, op, host);
    return xfw_max(0, isnan(usual) ? more : xfw_min(more, xfw_op_took(op) - usual));
}

/* Undoing it is paid at the same place: only the sum counts. */
static void pay_for_locking(const struct times *times, struct xfw_player *player, struct xfw_op *op,
                            const struct xfw_host_memory *host, uint64_t bytes, double making)
{
    if (bytes == 0 && !(making > 0))
        return;
    const struct xfa_achievable *achievable = &times->change.analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (is_rows(op) && certainty == XFW_LOW)
        bytes *= ROWS_SPREAD;
    struct xfw_op lock = xfw_op_like(op);
    lock.kind = XFT_EVENT_REGISTER;
    lock.bytes = bytes;
    lock.own_ns = making;
    if (bytes > 0)
        lock.own_ns +=
            times->terms.pinning == XFW_PIN_ONCE
                ? buffers_for_one(times, op) *
                      xfw_pinning_cost(achievable, host->node, op->gpu, bytes, certainty, NULL)
                : xfw_registration_cost(achievable, host->node, op->gpu, bytes, certainty, NULL);
    xfw_player_play_before(player, &lock, op);
}

/* Rows that are brought to memory for the first time likely took so long because that was made
 * meanwhile, as page-locking makes it: they take as long as they did. */
static bool makes_memory(struct times_state *state, const struct xfw_player *player,
                         const struct xfw_op *op)
{
    const double most = 0.5;
    double part = new_part(&state->brought, player, op);
    return part > most && xfw_player_certainty(player) != XFW_HIGH;
}

static struct xfw_copy_cost locked_cost(const struct times *times, struct times_state *state,
                                        const struct xfw_op *op, const struct xfp_path *to,
                                        const struct xfw_host_memory *host,
                                        enum xfw_certainty certainty)
{
    if (!is_rows(op))
        return xfw_asked_cost(&state->reuse.asked, to, op->bytes, certainty);
    const struct xfw_rows_way way = {host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D, host->node, op->gpu,
                                     to};
    return xfw_asked_rows(&state->rows, &times->change.analysis->achievable, &way, op->bytes,
                          op->row_bytes, certainty);
}

static void page_lock(const struct times *times, struct times_state *state,
                      struct xfw_player *player, struct xfw_op *op, const struct xfp_path *to)
{
    struct xfw_host_memory host;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (!xfw_host_rows(times->change.analysis, op, &host))
        return;
    struct xfw_copy_cost cost = locked_cost(times, state, op, to, &host, certainty);
    if (!cost.known)
        return;
    uint64_t bytes = bytes_to_lock(times, state, player, &host);
    double making = making_ns(times, state, player, op, &host);
    /* What rows of pageable memory usually take is not known: of those that lie where others have
     * been all is for being rows. */
    bool brought = op->row_bytes && host.to_host, made = brought && makes_memory(state, player, op);
    if (!brought && (!is_rows(op) || bytes > 0))
        keep(player, op, other_reasons_ns(times, state, player, op, &host));
    pay_for_locking(times, player, op, &host, bytes, making);
    if (made)
        return;
    const struct xfa_class *class = xfa_class_at(&times->change.analysis->classes, op->class);
    bool asynchronous = class->key.row.async || times->terms.asynchronous;
    if (!asynchronous || certainty == XFW_LOW) {
        xfw_copy_blocks(op, &cost);
    } else {
        make_async(times, state, op, &cost, &host);
        xfw_reuse_add(&state->reuse, &times->change, player, op, &host);
    }
}

/* Rows can be page-locked; other changes are of 2D copies that one has made contiguous. */
static bool can_be(const struct times *times, const struct xfw_op *op)
{
    const struct xfa_analysis *analysis = times->change.analysis;
    enum xfw_pinning pinning = times->terms.pinning;
    struct xfw_host_memory host;
    if (pinning == XFW_PIN_ONCE || pinning == XFW_PIN_PER_USE)
        return xfw_host_rows(analysis, op, &host);
    return pinning == XFW_MOVED || xfw_host_memory(analysis, op, &host);
}

static void times_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    const struct times *times = (const struct times *)change;
    struct times_state *state = self;
    bool mine = op->what == XFW_COPY && op->class < times->count && times->paths[op->class].to;
    xfw_reuse_meet(&state->reuse, change, player, op, mine && times->terms.asynchronous);
    if (!mine)
        return;
    const struct paths *paths = &times->paths[op->class];
    if (!can_be(times, op) || !xfw_player_take(player, op))
        return;
    bool staged = times->terms.pinning == XFW_STAGE || times->terms.pinning == XFW_APPLIED;
    op->path = staged ? NULL : paths->to;
    if (staged)
        make_staged(times, state, player, op, paths->to);
    else if (times->terms.pinning == XFW_MOVED)
        scale(state, paths, player, op);
    else
        page_lock(times, state, player, op, paths->to);
}

static void times_begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    (void)change, (void)player;
    xfw_trials_table(&((struct times_state *)self)->tried);
}

static void times_end(const struct xfw_change *change, void *self)
{
    struct times_state *state = self;
    (void)change;
    xfa_table_free(&state->tried);
    xfw_buffers_free(&state->brought);
    xfw_set_free(&state->locked);
}

static void times_free(struct xfw_change *change)
{
    free(((struct times *)change)->paths);
}

struct xfw_change *xfw_change_times(const struct xfa_analysis *analysis,
                                    const struct xfw_new_path *paths, size_t count,
                                    const struct xfw_times_terms *terms)
{
    static const struct xfw_change_type type = {
        .name = "times",
        .state_bytes = sizeof(struct times_state),
        .begin = times_begin,
        .op = times_op,
        .end = times_end,
        .free = times_free,
    };
    struct times *times = xfw_change_new(sizeof *times, &type, analysis, NULL);
    times->change.shares = terms->pinning == XFW_MOVED ? XFW_WHOLE : XFW_IN_PARTS;
    times->terms = *terms;
    for (size_t i = 0; i < count; i++)
        times->count = paths[i].class >= times->count ? (size_t)paths[i].class + 1 : times->count;
    times->paths = xfa_alloc((times->count + 1) * sizeof *times->paths);
    for (size_t i = 0; i < count; i++)
        times->paths[paths[i].class] = (struct paths){paths[i].to, paths[i].from, paths[i].turns};
    return &times->change;
}

/* ---- contiguous rows ------------------------------------------------------------------------- */

struct contiguous {
    struct xfw_change change;
    struct xfw_contiguous_path *paths;
    size_t count;
};

static void contiguous_free(struct xfw_change *change)
{
    free(((struct contiguous *)change)->paths);
}

static int by_class(const void *a, const void *b)
{
    const struct xfw_contiguous_path *x = a, *y = b;
    return (x->class > y->class) - (x->class < y->class);
}

struct contiguous_state {
    struct xfw_buffers brought; /* pageable memory */
};

/* The driver copies pageable memory within the call: all of the call is scaled, but what stays of
 * it. */
static void shorten_call(struct xfw_op *op, double blocking_ns, double stays)
{
    double took = xfw_op_took(op);
    double part = took > blocking_ns ? blocking_ns / took : 1;
    part += (1 - part) * stays;
    op->own_ns *= part;
    op->latency_ns *= part;
    op->duration_ns *= part;
    op->wake_ns *= part;
}

static void contiguous_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                          struct xfw_op *op)
{
    const struct contiguous *contiguous = (const struct contiguous *)change;
    struct contiguous_state *state = self;
    const struct xfw_contiguous_path key = {.class = op->class};
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (op->what != XFW_COPY || op->class == XFW_NONE)
        return;
    const struct xfw_contiguous_path *found =
        bsearch(&key, contiguous->paths, contiguous->count, sizeof key, by_class);
    if (!found)
        return;
    struct xfw_copy_cost cost = xfw_copy_cost(found->path, op->bytes, certainty);
    if (!cost.known)
        return;
    double made = found->in_call && found->to_host ? new_part(&state->brought, player, op) : 0;
    if (found->in_call)
        shorten_call(op, cost.blocking_ns, certainty == XFW_HIGH ? 0 : made);
    else
        op->duration_ns = xfw_min(op->duration_ns, cost.device_ns);
    op->in_one = true;
    if (certainty == XFW_LOW)
        op->gap_ns += xfw_pack_ns(&change->analysis->achievable, 1, op->bytes, XFW_LOW);
}

static void contiguous_end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_buffers_free(&((struct contiguous_state *)self)->brought);
}

struct xfw_change *xfw_change_contiguous(const struct xfa_analysis *analysis,
                                         struct xfw_contiguous_path *paths, size_t count)
{
    static const struct xfw_change_type type = {.name = "contiguous",
                                                .state_bytes = sizeof(struct contiguous_state),
                                                .op = contiguous_op,
                                                .end = contiguous_end,
                                                .free = contiguous_free};
    struct contiguous *contiguous = xfw_change_new(sizeof *contiguous, &type, analysis, NULL);
    contiguous->change.first = true;
    contiguous->paths = paths;
    contiguous->count = count;
    qsort(paths, count, sizeof *paths, by_class);
    return &contiguous->change;
}

/* ---- a link at its full rate ----------------------------------------------------------------- */

#define FIXED_NS 3000.0 /* of a copy, where the profile has no model: a guess */

struct link {
    struct xfw_change change;
    struct xfw_link_factors *factors;
    size_t count;
    double at_worst; /* of what is gained */
};

static void link_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct link *link = (const struct link *)change;
    (void)self;
    if (op->what != XFW_COPY || op->class == XFW_NONE || op->gpu < 0 ||
        (size_t)op->gpu >= link->count ||
        (op->engine != XFW_TO_DEVICE && op->engine != XFW_TO_HOST))
        return;
    const struct xfa_class *class = xfa_class_at(&change->analysis->classes, op->class);
    if (xfa_row_pageable(&class->key.row))
        return;
    const struct xfp_fit *fit = class->achievable.fit;
    double fixed = xfw_min(op->duration_ns, fit ? fit->Lo_ns : FIXED_NS);
    const struct xfw_link_factors *factors = &link->factors[op->gpu];
    double factor = op->engine == XFW_TO_DEVICE ? factors->to_device : factors->to_host;
    double faster = fixed + (op->duration_ns - fixed) / factor;
    double gained = op->duration_ns - faster;
    op->duration_ns -= xfw_player_certainty(player) == XFW_LOW ? link->at_worst * gained : gained;
}

static void link_free(struct xfw_change *change)
{
    free(((struct link *)change)->factors);
}

struct xfw_change *xfw_change_link(const struct xfa_analysis *analysis,
                                   const struct xfw_link_factors *factors, size_t count,
                                   bool certain)
{
    static const struct xfw_change_type type = {.name = "link", .op = link_op, .free = link_free};
    struct link *link = xfw_change_new(sizeof *link, &type, analysis, NULL);
    link->factors = xfa_alloc((count + 1) * sizeof *factors);
    memcpy(link->factors, factors, count * sizeof *factors);
    link->count = count;
    link->at_worst = certain ? 0.5 : 0;
    return &link->change;
}
