#include "analyzer/whatif/changes/elements.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/pack.h"
#include "analyzer/whatif/changes/areas.h"
#define LOOP_NS 2000.0 /* longer between two calls: the host does more than to call: a guess */
#define TURN_NS 30.0   /* a loop's turn that reads or writes an element: a guess */

void xfw_element_runs_free(struct xfw_element_runs *runs)
{
    xfw_marks_free(&runs->pieces);
    xfw_marks_free(&runs->lasts);
}

struct elements {
    struct xfw_change change;
    const struct xfw_element_runs *runs;
};

/* A thread's run so far. */
struct run {
    bool is;
    bool gone; /* its last piece: what the host waits for behind it goes */
    uint32_t stream;
    struct xfw_areas areas;
    uint64_t first_bytes[XFW_AREAS]; /* of a area: of the copy that brings it; 0: none yet */
    struct xfw_op down, up;          /* the last copy of each direction, as it was */
    bool has_down, has_up;
};

struct state {
    struct xfw_memories memories;
    struct run *threads;
    size_t count, capacity;
};

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    (void)change;
    xfw_memories_free(&state->memories);
    free(state->threads);
}

static struct run *run_of(struct state *state, uint32_t thread)
{
    state->threads =
        xfa_grown(state->threads, &state->capacity, &state->count, thread, sizeof *state->threads);
    return &state->threads[thread];
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Of the memory that the copy is of; where that was not measured, of page-locked memory. */
static struct xfw_copy_cost cost_of(const struct elements *elements,
                                    const struct xfw_player *player, const struct xfw_op *copy,
                                    uint64_t bytes)
{
    const struct xfa_analysis *analysis = elements->change.analysis;
    const struct xfa_achievable *achievable = &analysis->achievable;
    const struct xfa_row_key *row = &xfa_class_key_at(&analysis->classes, copy->class)->row;
    bool up = row->direction == XFT_DIR_H2D;
    const struct xfp_path *path =
        xfw_host_path(achievable, row->direction, up ? row->src_mem : row->dst_mem, -1, copy->gpu);
    if (!path)
        path = xfw_host_path(achievable, row->direction, XFT_MEM_PINNED, -1, copy->gpu);
    return xfw_copy_cost(path, bytes, xfw_player_certainty(player));
}

static uint64_t length_of(const struct xfw_area *area)
{
    return area->end - area->first;
}

/* What it takes the host to have all of the area, beyond the copy of its first piece. */
static double fetching_ns(const struct elements *elements, const struct xfw_player *player,
                          const struct run *run, unsigned i)
{
    const struct xfw_area *area = &run->areas.items[i];
    if (!xfw_area_fetches(area) || !run->has_down)
        return 0;
    struct xfw_copy_cost all = cost_of(elements, player, &run->down, length_of(area));
    struct xfw_copy_cost one = cost_of(elements, player, &run->down, run->first_bytes[i]);
    if (run->first_bytes[i] == 0)
        return all.known ? all.blocking_ns : xfw_op_took(&run->down);
    return all.known && one.known ? xfw_max(0, all.device_ns - one.device_ns) : 0;
}

/* The time between two calls of a run. */
static void without_loop(const struct xfw_player *player, struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    if (certainty == XFW_LOW || op->gap_ns >= LOOP_NS)
        return;
    op->gap_ns = certainty == XFW_LIKELY ? xfw_min(op->gap_ns, TURN_NS) : 0;
}

/* ---- the run's end --------------------------------------------------------------------------- */

static struct xfw_op sending(const struct elements *elements, const struct xfw_player *player,
                             const struct run *run, const struct xfw_area *area)
{
    struct xfw_op send;
    struct xfw_copy_cost all = cost_of(elements, player, &run->up, length_of(area));
    struct xfw_copy_cost one = cost_of(elements, player, &run->up, run->up.bytes);
    xfw_op_copy(&send, &run->up);
    send.made_up = true;
    send.gap_ns = send.woken_after_ns = 0;
    send.woken_by = XFW_NONE;
    send.woken_by_stream = 0;
    send.within_call = send.joins = send.for_job = send.job_counts = false;
    if (all.known && one.known) {
        double submit = xfw_max(0, all.submit_ns - one.submit_ns);
        send.duration_ns += xfw_max(0, all.device_ns - one.device_ns);
        send.wake_ns += send.awaits == XFW_AWAITS_ITS_START ? submit : 0;
        send.own_ns += send.awaits == XFW_AWAITS_NOTHING ? submit : 0;
    }
    send.dst = area->first;
    send.bytes = length_of(area);
    return send;
}

/* The last piece has gone: in its place the host has fetched, worked, and sends. */
static void end_run(const struct elements *elements, struct xfw_player *player, struct run *run,
                    struct xfw_op *op)
{
    uint64_t bytes = 0;
    double fetching = 0;
    struct xfw_op work = xfw_op_like(op);
    for (unsigned i = 0; i < run->areas.count; i++) {
        fetching += fetching_ns(elements, player, run, i);
        bytes = xfa_add(bytes, length_of(&run->areas.items[i]));
    }
    xfw_op_take_gap(&work, op);
    work.own_ns = fetching + xfw_pack_ns(&elements->change.analysis->achievable, run->areas.count,
                                         bytes, xfw_player_certainty(player));
    xfw_player_play(player, &work);
    for (unsigned i = 0; i < run->areas.count; i++) {
        if (!run->areas.items[i].sent || !run->has_up)
            continue;
        struct xfw_op send = sending(elements, player, run, &run->areas.items[i]);
        xfw_player_insert(player, &send);
        run->gone = false;
    }
    run->is = false;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void begin_run(struct run *run, const struct xfw_op *op)
{
    run->is = true;
    run->has_down = run->has_up = run->gone = false;
    run->stream = op->stream;
    run->areas.count = 0;
    for (unsigned i = 0; i < XFW_AREAS; i++)
        run->first_bytes[i] = 0;
}

/* It stays, if it is the first one to the host of its area. */
static void take_piece(struct state *state, const struct xfw_player *player, struct run *run,
                       struct xfw_op *op)
{
    bool down = op->engine == XFW_TO_HOST;
    struct xfw_area *area =
        xfw_areas_take(&run->areas, &state->memories, down ? op->src : op->dst, op->bytes, down);
    size_t at = area ? (size_t)(area - run->areas.items) : 0;
    xfw_op_copy(down ? &run->down : &run->up, op);
    run->has_down |= down;
    run->has_up |= !down;
    run->gone = !down || !area || run->first_bytes[at] > 0;
    if (!run->gone) {
        run->first_bytes[at] = op->bytes;
        return;
    }
    without_loop(player, op);
    xfw_op_drop(op);
}

/* Nothing else can be under way: the finding has no run with such a wait else. */
static bool waits_for_piece(const struct run *run, const struct xfw_op *op)
{
    return run->gone && op->kind == XFT_EVENT_SYNC &&
           (op->awaits == XFW_AWAITS_DEVICE ||
            (op->awaits == XFW_AWAITS_STREAM && op->stream == run->stream));
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct elements *elements = (const struct elements *)change;
    struct state *state = self;
    const struct xfa_classes *classes = &change->analysis->classes;
    uint32_t process = xfw_player_process(player)->number;
    xfw_memories_op(&state->memories, op);
    if (op->thread == XFW_NONE)
        return;
    struct run *run = run_of(state, op->thread);
    bool ours = op->class != XFW_NONE && !op->made_up &&
                xfw_set_has(&change->set, xfa_class_row_at(classes, op->class));
    bool last = ours && xfw_marked(&elements->runs->lasts, process, op->transfer);
    bool piece = last || (ours && xfw_marked(&elements->runs->pieces, process, op->transfer));
    if (piece && !run->is)
        begin_run(run, op);
    if (piece && op->what == XFW_COPY) {
        take_piece(state, player, run, op);
    } else if (waits_for_piece(run, op)) {
        without_loop(player, op);
        xfw_op_drop(op);
    } else if (!piece) {
        run->gone = run->gone && run->is;
    }
    if (last)
        end_run(elements, player, run, op);
}

struct xfw_change *xfw_change_elements(const struct xfa_analysis *analysis,
                                       const struct xfw_element_runs *runs, struct xfw_set *rows)
{
    static const struct xfw_change_type type = {
        .name = "elements",
        .state_bytes = sizeof(struct state),
        .op = op,
        .end = end,
    };
    struct elements *elements = xfw_change_new(sizeof *elements, &type, analysis, rows);
    elements->change.resizes = true;
    elements->runs = runs;
    return &elements->change;
}
