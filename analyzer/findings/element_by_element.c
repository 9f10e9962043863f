/*
 * element-by-element: elements of a GPU's memory that the host fetches and sends one by one, the
 * two by turns, with nothing on the GPU in between that could use or change them (operator[] of a
 * thrust::device_vector, getters and setters, a value that is copied, changed and copied back). The
 * host could fetch all at once, work on its copy, and send that. What it fetches behind what it has
 * sent there it would find in its copy, too.
 *
 * A run is a sequence of such copies, each below the half-bandwidth size (small_transfers.c), that
 * one thread makes into one stream. Any other work for a GPU ends it, of any thread of the process;
 * so do events, and what else the thread asks for. A wait for the run's stream does not, nor a wait
 * for a device that has been given nothing since the last one. It counts as soon as the copies of
 * its areas (whatif/changes/areas.h) are few beside its pieces, and beside the runs of one
 * direction of which it consists, since those are packed by themselves (small-transfers).
 *
 * Lost: the time of the pieces, each the longer one of copy and call, minus the Lo + k G of the
 * copies of all areas.
 */
#include "analyzer/findings/row_groups.h"

#include <math.h>

#include "analyzer/whatif/changes/elements.h"
#include "analyzer/whatif/changes/areas.h"

#define LEAST_PIECES 4   /* for each copy that takes their place (a guess) */
#define LEAST_TURNS 2    /* runs of one direction, for each such copy (a guess) */
#define MOST_PENDING 128 /* pieces of a run that does not count yet */
#define MOST_PARTS 32    /* call sites of a run; another one begins a new run */

/* A row's pieces of the current run. */
struct part {
    uint32_t row;
    bool unmeasured; /* some of them */
    uint64_t count, bytes;
    double took_ns;
};

/* The current run of a thread. */
struct lane {
    uint32_t id;    /* key */
    uint64_t count; /* 0 = no run */
    uint64_t turns; /* runs of one direction in it */
    uint64_t stream, last;
    uint64_t work; /* of the process, when it began */
    int gpu;
    bool counts, was_down;
    uint64_t pending[MOST_PENDING]; /* its pieces, until it counts: not marked yet */
    struct xfw_areas areas;
    const struct xfp_fit *down, *up; /* NULL: it has no such copy yet */
    struct part parts[MOST_PARTS];
    unsigned part_count;
};

struct self {
    struct xfa_row_groups groups;
    struct xfa_table lanes; /* of the process at hand */
    struct xfw_memories memories;
    uint32_t process;
    uint64_t transfers;    /* of it, so far */
    uint64_t work, waited; /* work for GPUs so far; and at the last wait for a device */
    struct xfw_element_runs marks;
};

/* ---- a run ----------------------------------------------------------------------------------- */

static double copies_ns(const struct lane *lane)
{
    double ns = 0;
    for (unsigned i = 0; i < lane->areas.count; i++) {
        const struct xfw_area *area = &lane->areas.items[i];
        double bytes = (double)(area->end - area->first);
        if (xfw_area_fetches(area))
            ns += lane->down->Lo_ns + bytes * lane->down->G_ns_per_byte;
        if (area->sent)
            ns += lane->up->Lo_ns + bytes * lane->up->G_ns_per_byte;
    }
    return ns;
}

/* What was not measured took no less than its g. */
static double took_ns(const struct lane *lane, const struct part *part)
{
    double g_ns = fmin(lane->down->g_ns, lane->up->g_ns);
    return part->unmeasured && !isnan(g_ns) ? fmax(part->took_ns, (double)part->count * g_ns)
                                            : part->took_ns;
}

static void count_run(struct self *self, const struct lane *lane)
{
    double copies = copies_ns(lane);
    for (unsigned i = 0; i < lane->part_count; i++) {
        const struct part *part = &lane->parts[i];
        double share = (double)part->count / (double)lane->count;
        struct xfa_runs runs = {
            .transfers = part->count,
            .bytes = part->bytes,
            .modelled = part->unmeasured ? part->count : 0,
            .error = fmax(lane->down->max_error, lane->up->max_error),
        };
        xfa_exact_add(&runs.count, share);
        xfa_exact_add(&runs.took_ns, took_ns(lane, part));
        xfa_exact_add(&runs.batched_ns, share * copies);
        xfa_row_groups_add(&self->groups, part->row, lane->parts[0].row, &runs);
    }
    xfw_mark(&self->marks.lasts, self->process, lane->last);
}

static void end_run(struct self *self, struct lane *lane)
{
    if (lane->counts)
        count_run(self, lane);
    lane->count = lane->turns = 0;
    lane->part_count = 0;
    lane->counts = false;
    lane->down = lane->up = NULL;
    lane->areas.count = 0;
}

/* Pieces are marked from the moment on when the run counts. */
static void mark_piece(struct self *self, struct lane *lane, uint64_t number)
{
    uint64_t copies = xfw_areas_copies(&lane->areas);
    bool pending = !lane->counts;
    if (pending)
        lane->pending[lane->count - 1] = number;
    lane->counts =
        lane->counts || (lane->down && lane->up && lane->count >= LEAST_PIECES * copies &&
                         lane->turns >= LEAST_TURNS * copies);
    if (!lane->counts)
        return;
    for (uint64_t i = 0; pending && i < lane->count; i++)
        xfw_mark(&self->marks.pieces, self->process, lane->pending[i]);
    xfw_mark(&self->marks.pieces, self->process, number);
}

/* ---- its pieces ------------------------------------------------------------------------------ */

/* A copy of an element, or of a few. */
static bool is_piece(const struct xfa_event *event)
{
    const struct xfp_fit *fit = event->transfer.class->achievable.fit;
    const struct xfa_class_key *key = &event->transfer.class->key;
    unsigned direction = key->row.direction;
    bool up = direction == XFT_DIR_H2D, down = direction == XFT_DIR_D2H;
    return fit && (up || down) && key->shape == XFA_LINEAR && !(event->flags & XFT_GRAPH) &&
           (down ? key->row.src_mem : key->row.dst_mem) == XFT_MEM_DEVICE &&
           (double)event->bytes * fit->G_ns_per_byte < fit->Lo_ns;
}

static bool is_down(const struct xfa_event *event)
{
    return event->transfer.class->key.row.direction == XFT_DIR_D2H;
}

static int gpu_of(const struct xfa_event *event)
{
    const struct xfa_row_key *key = &event->transfer.class->key.row;
    return is_down(event) ? key->src_gpu : key->dst_gpu;
}

/* NULL: there are too many. */
static struct part *part_of(struct lane *lane, uint32_t row)
{
    for (unsigned i = 0; i < lane->part_count; i++)
        if (lane->parts[i].row == row)
            return &lane->parts[i];
    if (lane->part_count == MOST_PARTS)
        return NULL;
    struct part *part = &lane->parts[lane->part_count++];
    *part = (struct part){.row = row};
    return part;
}

/* False: it is none of the current run. */
static bool take(struct self *self, struct lane *lane, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    bool down = is_down(event), first = lane->count == 0;
    bool goes_on =
        first || (lane->work == self->work && lane->stream == event->stream &&
                  lane->gpu == gpu_of(event) && (lane->counts || lane->count < MOST_PENDING));
    struct part *part = goes_on ? part_of(lane, transfer->class->row) : NULL;
    if (!part || !xfw_areas_take(&lane->areas, &self->memories,
                                 down ? transfer->src : transfer->dst, event->bytes, down))
        return false;
    double call = event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
    part->count++;
    part->bytes = xfa_add(part->bytes, event->bytes);
    part->unmeasured = part->unmeasured || isnan(transfer->achieved_ns);
    part->took_ns += fmax(transfer->achieved_ns, call);
    lane->turns += first || lane->was_down != down;
    lane->was_down = down;
    lane->work = self->work;
    lane->stream = event->stream;
    lane->gpu = gpu_of(event);
    *(down ? &lane->down : &lane->up) = transfer->class->achievable.fit;
    lane->count++;
    return true;
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct self *self = of;
    uint64_t number = self->transfers++;
    struct lane *lane = xfa_table_put(&self->lanes, &event->lane);
    if (!is_piece(event)) {
        self->work++;
        end_run(self, lane);
        return;
    }
    if (!take(self, lane, event)) {
        end_run(self, lane);
        take(self, lane, event);
    }
    lane->last = number;
    mark_piece(self, lane, number);
}

/* ---- what else the thread does --------------------------------------------------------------- */

/* Behind it the run goes on: nothing that it waits for could have changed what is fetched next. */
static bool is_idle_wait(struct self *self, const struct lane *lane, const struct xfa_event *event)
{
    bool device = event->wait.what == XFT_SYNC_CONTEXT;
    bool idle = device ? self->waited == self->work
                       : lane && event->wait.what == XFT_SYNC_STREAM &&
                             event->flags & XFT_STREAM_KNOWN && event->stream == lane->stream;
    if (device)
        self->waited = self->work;
    return idle;
}

static void event(void *of, const struct xfa_event *event)
{
    struct self *self = of;
    struct lane *lane = xfa_table_get(&self->lanes, &event->lane);
    bool waits = event->kind == XFT_EVENT_SYNC, asks = event->kind == XFT_EVENT_QUERY;
    if (event->flags & XFT_CAPTURED)
        return;
    if (event->kind == XFT_EVENT_ALLOC) {
        xfw_memories_event(&self->memories, event);
        return;
    }
    bool goes_on = waits && is_idle_wait(self, lane, event);
    if (lane && !goes_on)
        end_run(self, lane);
    self->work += !waits && !asks;
    xfw_memories_event(&self->memories, event);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct self *self = of;
    xfa_table_init(&self->lanes, sizeof(uint32_t), sizeof(struct lane));
    self->process = process->number;
    self->transfers = self->work = self->waited = 0;
    return XFA_ALL_KINDS;
}

static void end(void *of, struct xfa_process *process)
{
    struct self *self = of;
    for (size_t i = 0; i < self->lanes.count; i++)
        end_run(self, xfa_table_at(&self->lanes, i));
    xfa_table_free(&self->lanes);
    xfw_memories_free(&self->memories);
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){.name = "element by element",
                                 .kinds = XFW_MEMORIES_KINDS | XFA_RUN_ENDS,
                                 .self = self,
                                 .aside = true,
                                 .shared = true,
                                 .process = process,
                                 .event = event,
                                 .transfer = transfer,
                                 .end = end};
}

static void release(void *of)
{
    struct self *self = of;
    xfa_row_groups_free(&self->groups);
    xfw_element_runs_free(&self->marks);
}

/* ---- divided --------------------------------------------------------------------------------- */

static void give(const void *of, struct xfa_parcel *parcel)
{
    const struct self *self = of;
    xfa_row_groups_give(&self->groups, parcel);
    xfw_marks_give(&self->marks.pieces, parcel);
    xfw_marks_give(&self->marks.lasts, parcel);
}

static void take_sums(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct self *self = of;
    xfa_row_groups_take(&self->groups, analysis, from);
    xfw_marks_take(&self->marks.pieces, from, analysis->run->process_count);
    xfw_marks_take(&self->marks.lasts, from, analysis->run->process_count);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct self *self = sums;
    if (!xfa_row_groups_gain(&self->groups, analysis, row, gain))
        return false;
    uint32_t first = xfa_row_groups_first(&self->groups, (uint32_t)row);
    gain->reckoning = XFA_RECKONED_ELEMENTS;
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, first), XFA_REMEDY_WORK_ON_COPY);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct self *self = sums;
    struct xfw_set rows = xfa_row_groups_whole(&self->groups, finding);
    return xfw_change_elements(analysis, &self->marks, &rows);
}

const struct xfa_finding_kind xfa_kind_elements = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct self),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take_sums,
};
