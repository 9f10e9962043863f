#include "analyzer/whatif/changes/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/rows.h"
#define LOOP_NS 2000.0 /* longer between two calls: the host does more than to call: a guess */
#define PIECE_NS 30.0  /* a loop's turn and a call of memcpy(): a guess */
#define HOST_NS_PER_BYTE 0.12 /* where the profile has no copies within the host: a guess */

void xfw_runs_free(struct xfw_runs *runs)
{
    xfw_marks_free(&runs->firsts);
    xfw_marks_free(&runs->pieces);
    xfw_marks_free(&runs->lasts);
}

/* ---- what it costs --------------------------------------------------------------------------- */

double xfw_pack_ns(const struct xfa_achievable *achievable, uint64_t pieces, uint64_t bytes,
                   enum xfw_certainty certainty)
{
    static const double times[XFW_CERTAINTIES] = {
        [XFW_LOW] = 1, [XFW_LIKELY] = 0.5, [XFW_HIGH] = 0};
    const struct xfp_place from = {XFT_MEM_PAGEABLE, -1, -1}, to = {XFT_MEM_PINNED, -1, -1};
    const struct xfp_path *path =
        achievable->profile ? xfp_find(achievable->profile, XFP_COPY, from, to, false) : NULL;
    double rate = path && path->fit.valid && path->fit.G_ns_per_byte > 0 ? path->fit.G_ns_per_byte
                                                                         : HOST_NS_PER_BYTE;
    return times[certainty] * ((double)pieces * PIECE_NS + (double)bytes * rate);
}

static const struct xfp_path *pinned_path(const struct xfa_achievable *achievable,
                                          enum xft_direction direction, int gpu)
{
    return xfw_host_path(achievable, direction, XFT_MEM_PINNED, -1, gpu);
}

/* Measured with pieces of one size; the bytes beyond these go at the link's rate. */
double xfw_batch_ns(const struct xfa_achievable *achievable, enum xft_direction direction, int gpu,
                    uint64_t pieces, uint64_t bytes, enum xfw_certainty certainty)
{
    const char *what = direction == XFT_DIR_H2D ? "copies/batch/h2d" : "copies/batch/d2h";
    const struct xfp_path *path = pinned_path(achievable, direction, gpu);
    double ns = xfw_table_cost(achievable, what, -1, gpu, pieces, certainty);
    char name[64];
    if (!(ns > 0) || !path || !path->fit.valid)
        return NAN;
    snprintf(name, sizeof name, "%s/gpu%d", what,
             xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu));
    const struct xfp_table *table = xfp_find_table(achievable->profile, name);
    double measured = table ? (double)table->bytes * (double)pieces : 0;
    return ns + fmax(0, (double)bytes - measured) * path->fit.G_ns_per_byte;
}

/* ---- the change ------------------------------------------------------------------------------ */

struct pack {
    struct xfw_change change;
    const struct xfw_runs *runs;
    enum xfw_packing packing;
};

/* A thread's run so far. */
struct run {
    uint64_t pieces, bytes;
    bool has_first; /* of all: the one copy takes its place, and it is no piece */
    struct xfw_layout layout;
    uint32_t stream;
    double all_ns;                  /* of the pieces: their time on the device */
    double space_ns, first_ns;      /* of the first piece: behind the work before the run, and its
                                       duration; copies behind copies begin and end faster */
    uint64_t first_bytes, src, dst; /* of the first piece */
    struct xfw_op held;             /* the last piece, as it was */
    double unpack_ns;               /* to be done once the data is there */
    uint32_t *events;               /* recorded behind pieces: now behind all of them */
    size_t event_count, event_capacity;
    double locked_ns;   /* the page-locked buffer that it packs into has cost so far */
    uint32_t done;      /* an event, where the buffer has one: behind the copy out of it */
    bool has_done, out; /* a copy out of it may be under way */
};

struct state {
    struct run *threads;
    size_t count, capacity;
    struct xfw_op *late; /* records of these events, behind the op before */
    size_t late_count, late_capacity;
};

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    for (size_t i = 0; i < state->count; i++)
        free(state->threads[i].events);
    free(state->threads);
    free(state->late);
}

static struct run *run_of(struct state *state, uint32_t thread)
{
    state->threads =
        xfa_grown(state->threads, &state->capacity, &state->count, thread, sizeof *state->threads);
    return &state->threads[thread];
}

static const struct xfa_row_key *row_of(const struct pack *pack, const struct xfw_op *op)
{
    const struct xfa_classes *classes = &pack->change.analysis->classes;
    bool has = op->class != XFW_NONE &&
               xfw_set_has(&pack->change.set, xfa_class_row_at(classes, op->class));
    return has ? &xfa_class_key_at(classes, op->class)->row : NULL;
}

static double packing_ns(const struct pack *pack, const struct xfw_player *player, uint64_t pieces,
                         uint64_t bytes)
{
    return pack->packing == XFW_PACK || pack->packing == XFW_PACK_GATHER
               ? xfw_pack_ns(&pack->change.analysis->achievable, pieces, bytes,
                             xfw_player_certainty(player))
               : 0;
}

/* Gathered, the pieces lie one behind the other where they are copied from. */
static void add_layout(const struct pack *pack, struct run *run, bool first,
                       const struct xfw_op *op)
{
    bool gathered = pack->packing == XFW_PACK_GATHER && !first;
    xfw_layout_add(&run->layout, first, gathered ? run->layout.src_end : op->src, op->dst,
                   op->bytes);
}

/* One more piece of the run, or the last: returns the host's time to pack it for an upload. The
 * first piece that is not contiguous has those before it packed with it. */
static double pack_piece(const struct pack *pack, const struct xfw_player *player, struct run *run,
                         const struct xfw_op *op, bool up)
{
    bool was = run->layout.scattered;
    add_layout(pack, run, run->pieces == 0, op);
    if (!up || !run->layout.scattered)
        return 0;
    uint64_t before = was ? 0 : run->pieces, bytes = was ? 0 : run->bytes;
    return packing_ns(pack, player, before + 1, xfa_add(bytes, op->bytes));
}

static bool as_they_lie(const struct pack *pack)
{
    return pack->packing == XFW_PACK_WITHIN || pack->packing == XFW_PACK_ROWS;
}

/* Between two copies of rows, or within the device, the host only makes the next call: at worst it
 * still does, to fill a table of the pieces. */
static void without_loop(const struct pack *pack, const struct xfw_player *player,
                         struct xfw_op *op)
{
    if (as_they_lie(pack) && xfw_player_certainty(player) != XFW_LOW && op->gap_ns < LOOP_NS)
        op->gap_ns = 0;
}

/* On the device, beside no copy before it. */
static double alone_ns(const struct xfw_op *op)
{
    return op->duration_ns - xfw_min(op->lead_ns, op->duration_ns);
}

/* The copy goes; the host puts its bytes where they are sent from. */
static void take_piece(const struct pack *pack, const struct xfw_player *player, struct run *run,
                       struct xfw_op *op, bool up)
{
    double packing = pack_piece(pack, player, run, op, up);
    if (run->pieces == 0) {
        run->space_ns = op->space_ns;
        run->first_ns = op->duration_ns;
        run->first_bytes = op->bytes;
        run->src = op->src;
        run->dst = op->dst;
        run->all_ns = 0;
    } else {
        without_loop(pack, player, op);
    }
    run->all_ns += alone_ns(op);
    run->pieces++;
    run->stream = op->stream;
    run->bytes = xfa_add(run->bytes, op->bytes);
    xfw_op_copy(&run->held, op);
    xfw_op_drop(op);
    op->own_ns = packing;
}

static const struct xfp_path *path_within(const struct xfa_achievable *achievable, int gpu)
{
    struct xfp_place device = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, gpu), -1};
    return achievable->profile ? xfp_find(achievable->profile, XFP_COPY, device, device, false)
                               : NULL;
}

/* Of the memory that the row's copies are of; where that was not measured, of page-locked memory.
 */
static const struct xfp_path *path_of(const struct pack *pack, const struct xfw_op *op,
                                      const struct xfa_row_key *row)
{
    const struct xfa_achievable *achievable = &pack->change.analysis->achievable;
    if (row->direction == XFT_DIR_D2D)
        return path_within(achievable, op->gpu);
    enum xft_direction direction = row->direction;
    enum xft_memory memory = direction == XFT_DIR_H2D ? row->src_mem : row->dst_mem;
    const struct xfp_path *path = xfw_host_path(achievable, direction, memory, -1, op->gpu);
    return path ? path : pinned_path(achievable, direction, op->gpu);
}

/* By how much one call with all pieces takes longer than one with this piece; NAN: not measured. */
static double batch_longer_ns(const struct pack *pack, const struct xfw_player *player,
                              const struct xfw_op *op, const struct xfa_row_key *row,
                              uint64_t one_bytes, uint64_t pieces, uint64_t bytes)
{
    const struct xfa_achievable *achievable = &pack->change.analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double one = xfw_batch_ns(achievable, row->direction, op->gpu, 1, one_bytes, certainty);
    double all = xfw_batch_ns(achievable, row->direction, op->gpu, pieces, bytes, certainty);
    return isnan(all) ? NAN : fmax(0, all - one);
}

/* Of one copy of so many of the piece's bytes, with its rows. */
static struct xfw_copy_cost cost_of(const struct pack *pack, const struct xfw_op *piece,
                                    const struct xfa_row_key *row, uint64_t bytes,
                                    enum xfw_certainty certainty)
{
    const struct xfp_path *path = path_of(pack, piece, row);
    const struct xfw_rows_way way = {row->direction, -1, piece->gpu, path};
    return pack->packing == XFW_PACK_ROWS ? xfw_rows_cost(&pack->change.analysis->achievable, &way,
                                                          bytes, piece->row_bytes, certainty)
                                          : xfw_copy_cost(path, bytes, certainty);
}

/* The one copy takes longer by as much as the profile says. */
static void grow(struct xfw_op *op, const struct xfw_copy_cost *one,
                 const struct xfw_copy_cost *all)
{
    double submit = fmax(0, all->submit_ns - one->submit_ns);
    op->duration_ns += fmax(0, all->device_ns - one->device_ns);
    if (op->awaits == XFW_AWAITS_ITS_START)
        op->wake_ns += submit;
    else if (op->awaits == XFW_AWAITS_NOTHING)
        op->own_ns += submit;
}

/* The one copy is contiguous, behind the kernel that gathers its bytes. At worst it takes as long
 * as a piece of short rows did, and what it is longer. */
static void gather(const struct pack *pack, const struct xfw_player *player, struct xfw_op *op,
                   const struct xfa_row_key *row)
{
    const struct xfa_achievable *achievable = &pack->change.analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (pack->packing != XFW_PACK_GATHER)
        return;
    struct xfw_copy_cost one = cost_of(pack, op, row, op->bytes, certainty);
    if (certainty != XFW_LOW && one.known)
        op->duration_ns = xfw_min(op->duration_ns, one.device_ns);
    op->duration_ns += XFW_LAUNCHED_NS;
    op->gap_ns +=
        xfw_scalar_cost_by(achievable, "launch/kernel", op->gpu, certainty, XFW_SUBMIT_NS);
}

/* Of the event, behind the op at hand. */
static void add_record(struct state *state, const struct xfw_op *op, uint32_t event)
{
    struct xfw_op record = xfw_op_like(op);
    record.what = XFW_RECORD;
    record.event = event;
    state->late =
        xfa_room(state->late, &state->late_capacity, state->late_count + 1, sizeof *state->late);
    state->late[state->late_count++] = record;
}

/* ---- out of a page-locked buffer ------------------------------------------------------------- */

/* Does the host pack pageable memory? Then into a page-locked buffer, as it is advised; at worst
 * into one of the same kind as before. */
static bool packs_locked(const struct pack *pack, const struct xfw_player *player,
                         const struct run *run, const struct xfa_row_key *row)
{
    return pack->packing == XFW_PACK && run->layout.scattered && row->direction == XFT_DIR_H2D &&
           row->src_mem == XFT_MEM_PAGEABLE && xfw_player_certainty(player) != XFW_LOW;
}

/* Of the largest run so far, and given back. */
static void pay_for_buffer(const struct pack *pack, struct xfw_player *player, struct run *run,
                           struct xfw_op *op, uint64_t bytes)
{
    double ns = xfw_pinning_cost(&pack->change.analysis->achievable, -1, op->gpu, bytes,
                                 xfw_player_certainty(player), NULL);
    if (ns <= run->locked_ns)
        return;
    struct xfw_op lock = xfw_op_like(op);
    lock.kind = XFT_EVENT_REGISTER;
    lock.bytes = bytes;
    lock.own_ns = ns - run->locked_ns;
    run->locked_ns = ns;
    xfw_player_play_before(player, &lock, op);
}

/* What was sent out of the buffer is there before it is filled again. */
static void wait_for_buffer(const struct pack *pack, struct xfw_player *player, struct run *run,
                            struct xfw_op *op)
{
    if (!run->out)
        return;
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = XFW_AWAITS_EVENT;
    wait.event = run->done;
    wait.own_ns =
        xfw_scalar_cost(&pack->change.analysis->achievable, "sync/event", op->gpu, XFW_SYNC_NS);
    xfw_op_take_gap(&wait, op);
    xfw_player_play(player, &wait);
    run->out = false;
}

/* An event behind the copy at hand, which the host does not wait for. */
static void note_out(struct state *state, struct xfw_player *player, struct run *run,
                     const struct xfw_op *op)
{
    if (!run->has_done)
        run->done = xfw_player_side_event(player);
    run->has_done = run->out = true;
    add_record(state, op, run->done);
}

/* The copy takes what one of page-locked memory takes, where the profile has that. */
static void send_locked(const struct pack *pack, struct state *state, struct xfw_player *player,
                        struct run *run, struct xfw_op *op, const struct xfa_row_key *row)
{
    const struct xfa_achievable *achievable = &pack->change.analysis->achievable;
    struct xfw_copy_cost cost = xfw_copy_cost(pinned_path(achievable, row->direction, op->gpu),
                                              op->bytes, xfw_player_certainty(player));
    if (!cost.known)
        return;
    pay_for_buffer(pack, player, run, op, op->bytes);
    if (!row->async) {
        xfw_copy_blocks(op, &cost);
        return;
    }
    xfw_copy_is_submitted(op, &cost, xfw_around_ns(achievable, row->direction, op->gpu));
    note_out(state, player, run, op);
}

/* packing: the host's time to pack this piece. */
static void take_last(const struct pack *pack, const struct xfw_player *player, struct run *run,
                      struct xfw_op *op, const struct xfa_row_key *row, double packing)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    bool up = row->direction == XFT_DIR_H2D;
    uint64_t pieces = run->pieces + 1, bytes = xfa_add(run->bytes, op->bytes);
    bool first = run->pieces > 0 && run->first_ns > op->duration_ns;
    struct xfw_copy_cost one =
        cost_of(pack, op, row, first ? run->first_bytes : op->bytes, certainty);
    struct xfw_copy_cost all = cost_of(pack, op, row, bytes, certainty);
    if (run->pieces > 0) {
        op->space_ns = run->space_ns;
        run->all_ns += alone_ns(op);
        without_loop(pack, player, op);
    }
    if (first)
        op->duration_ns = run->first_ns;
    gather(pack, player, op, row);
    if (as_they_lie(pack) && certainty == XFW_LOW && run->pieces > 0)
        op->duration_ns = run->all_ns; /* the device may still go from piece to piece */
    else if (pack->packing == XFW_PACK_BATCH) {
        double longer = batch_longer_ns(pack, player, op, row, op->bytes, pieces, bytes);
        op->duration_ns += isnan(longer) ? 0 : longer;
    } else if (one.known && all.known) {
        grow(op, &one, &all);
    }
    op->gap_ns += packing;
    if (!up && run->layout.scattered)
        run->unpack_ns += packing_ns(pack, player, pieces, bytes);
    if (run->pieces > 0 && !run->layout.scattered) {
        op->src = run->src;
        op->dst = run->dst;
    }
    op->bytes = bytes;
    run->pieces = run->bytes = 0;
}

/* ---- copies to the host that it has one by one ----------------------------------------------- */

static void forget(struct run *run)
{
    run->pieces = run->bytes = 0;
    run->event_count = 0;
    run->has_first = false;
}

/* It becomes the copy of all; by how much it is longer is known, and added, at the last. */
static void take_first(const struct pack *pack, const struct xfw_player *player, struct run *run,
                       struct xfw_op *op, const struct xfa_row_key *row)
{
    forget(run);
    run->has_first = true;
    run->stream = op->stream;
    run->first_bytes = op->bytes;
    add_layout(pack, run, true, op);
    gather(pack, player, op, row);
}

static double longer_ns(const struct pack *pack, const struct xfw_player *player,
                        const struct run *run, const struct xfw_op *op,
                        const struct xfa_row_key *row)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    uint64_t pieces = run->pieces + 1, bytes = xfa_add(run->first_bytes, run->bytes);
    struct xfw_copy_cost one = cost_of(pack, op, row, run->first_bytes, certainty);
    struct xfw_copy_cost all = cost_of(pack, op, row, bytes, certainty);
    double ns = one.known && all.known ? fmax(0, all.device_ns - one.device_ns) : 0;
    if (pack->packing == XFW_PACK_BATCH) {
        double longer = batch_longer_ns(pack, player, op, row, run->first_bytes, pieces, bytes);
        ns = isnan(longer) ? ns : longer;
    }
    if (run->layout.scattered)
        ns += packing_ns(pack, player, pieces, bytes);
    return ns;
}

/* The host has its bytes already. */
static void take_behind_first(const struct pack *pack, const struct xfw_player *player,
                              struct run *run, struct xfw_op *op, const struct xfa_row_key *row,
                              bool last)
{
    add_layout(pack, run, false, op);
    run->pieces++;
    run->bytes = xfa_add(run->bytes, op->bytes);
    double ns = last ? longer_ns(pack, player, run, op, row) : 0;
    xfw_op_drop(op);
    op->own_ns = ns;
    if (last)
        forget(run);
}

/* Behind a piece that went, a wait for its stream or for an event of it. */
static bool waits_for_piece(const struct run *run, const struct xfw_op *op)
{
    if (run->pieces == 0 || op->kind != XFT_EVENT_SYNC)
        return false;
    if (op->awaits == XFW_AWAITS_STREAM)
        return op->stream == run->stream;
    for (size_t i = 0; i < run->event_count && op->awaits == XFW_AWAITS_EVENT; i++)
        if (run->events[i] == op->event)
            return true;
    return false;
}

/* ---- the last one is gone -------------------------------------------------------------------- */

/* Another change has left the last one out: the piece before it takes its place. */
static void play_held(const struct pack *pack, struct state *state, struct xfw_player *player,
                      struct run *run, const struct xfw_op *op)
{
    struct xfw_op last = run->held, like = xfw_op_like(op);
    last.made_up = true;
    xfw_op_take_gap(&last, &like); /* its own has passed */
    run->pieces--;
    run->bytes -= last.bytes;
    const struct xfa_row_key *row = row_of(pack, &last);
    take_last(pack, player, run, &last, row, 0); /* it was packed as a piece */
    if (packs_locked(pack, player, run, row))
        send_locked(pack, state, player, run, &last, row);
    xfw_player_insert(player, &last);
}

/* ---- events and waits around it -------------------------------------------------------------- */

static void note_record(struct run *run, const struct xfw_op *op)
{
    run->events =
        xfa_room(run->events, &run->event_capacity, run->event_count + 1, sizeof *run->events);
    run->events[run->event_count++] = op->event;
}

/* An event that was recorded behind a piece is recorded again when all pieces are there. */
static void record_again(struct state *state, struct run *run, const struct xfw_op *op)
{
    for (size_t i = 0; i < run->event_count; i++)
        add_record(state, op, run->events[i]);
    run->event_count = 0;
}

static void unpack(struct run *run, struct xfw_player *player, const struct xfw_op *op)
{
    if (run->unpack_ns > 0 && op->awaits != XFW_AWAITS_NOTHING) {
        struct xfw_op work = xfw_op_like(op);
        work.own_ns = run->unpack_ns;
        run->unpack_ns = 0;
        xfw_player_play_behind(player, &work);
    }
}

/* Pieces went, or their bytes are on their way: what copies nothing may concern it, too. */
static bool is_under_way(const struct run *run)
{
    return run->pieces > 0 || run->unpack_ns > 0;
}

XFW_RARE static void meet(const struct pack *pack, struct state *state, struct run *run,
                          struct xfw_player *player, struct xfw_op *op)
{
    uint32_t process = xfw_player_process(player)->number;
    bool fits = op->engine == XFW_TO_DEVICE || op->engine == XFW_TO_HOST ||
                (pack->packing == XFW_PACK_WITHIN && op->engine == XFW_COMPUTE);
    const struct xfa_row_key *row = op->what == XFW_COPY && fits ? row_of(pack, op) : NULL;
    for (size_t i = 0; i < state->late_count; i++)
        xfw_player_play(player, &state->late[i]);
    state->late_count = 0;
    bool of_class = op->class != XFW_NONE; /* a transfer, or one that another change left out */
    bool is_last = of_class && xfw_marked(&pack->runs->lasts, process, op->transfer);
    bool is_piece = is_last || (row && xfw_marked(&pack->runs->pieces, process, op->transfer));
    if (row && xfw_marked(&pack->runs->firsts, process, op->transfer)) {
        take_first(pack, player, run, op, row);
    } else if (row && run->has_first && is_piece) {
        take_behind_first(pack, player, run, op, row, is_last);
    } else if (row && is_last) {
        wait_for_buffer(pack, player, run, op);
        double packing = pack_piece(pack, player, run, op, row->direction == XFT_DIR_H2D);
        take_last(pack, player, run, op, row, packing);
        if (packs_locked(pack, player, run, row))
            send_locked(pack, state, player, run, op, row);
        record_again(state, run, op);
    } else if (row && is_piece) {
        wait_for_buffer(pack, player, run, op);
        take_piece(pack, player, run, op, row->direction == XFT_DIR_H2D);
    } else if (op->what == XFW_RECORD && op->event != XFW_NONE && run->pieces &&
               op->stream == run->stream) {
        note_record(run, op);
    } else if (waits_for_piece(run, op)) {
        xfw_op_drop(op);
    } else if (!row && is_last && run->has_first) {
        forget(run);
    } else if (!row && is_last && run->pieces && row_of(pack, op)) {
        play_held(pack, state, player, run, op);
        record_again(state, run, op);
    }
    unpack(run, player, op);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    struct state *state = self;
    struct run *run = run_of(state, op->thread);
    if (op->class != XFW_NONE || is_under_way(run) || state->late_count > 0)
        meet((const struct pack *)change, state, run, player, op);
}

struct xfw_change *xfw_change_pack(const struct xfa_analysis *analysis, const struct xfw_runs *runs,
                                   struct xfw_set *rows, enum xfw_packing packing)
{
    static const struct xfw_change_type type = {
        .name = "pack",
        .state_bytes = sizeof(struct state),
        .op = op,
        .end = end,
    };
    struct pack *pack = xfw_change_new(sizeof *pack, &type, analysis, rows);
    pack->change.resizes = true;
    pack->runs = runs;
    pack->packing = packing;
    return &pack->change;
}
