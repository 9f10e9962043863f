/*
 * small-transfers: below the half-bandwidth size Lo / G most of a transfer's time is the fixed cost
 * Lo (van Werkhoven et al., section V); of a copy that blocks, also what the host waits for it
 * beyond its time on the device. A run is a sequence of such transfers that one thread makes
 * into one stream, between memory of the same kinds, from one call site or several: the fields of a
 * structure that are copied line by line, or by helper functions. Lost: their time (each the longer
 * one of copy and call), minus the Lo + k G of one transfer of all k bytes. Call sites that take
 * part in the same runs stand or fall together (a group), and each has its share of the loss.
 *
 * Calls of the thread that may use the data on the device, or bring other data there, end a run:
 * launches, memsets, waits. Not a wait for the run's own stream, or for an event that was recorded
 * within the run: whoever copies piece by piece, and waits for each, could copy all at once. Such
 * an event ends it only when it is queried.
 *
 * Copies to the host of rows so short that these take the time: a kernel can place them
 * contiguously first; in one call of rows they would take as long.
 *
 * Copies within a device, too: rows of it, at the same distance from each other at both ends, are
 * one copy of two dimensions; others (XFW_LEAST_ROWS or more of them, none of which depends on one
 * before, whatif/changes/strides.h) one kernel or one batch. Any event above ends such a run.
 */
#include "analyzer/findings/row_groups.h"

#include <math.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/pack.h"
#include "analyzer/whatif/changes/strides.h"

#define MOST_EVENTS 16    /* recorded within a run */
#define MOST_PARTS 32     /* call sites of a run; another one begins a new run */
#define LEAST_OF_ROWS 1.5 /* times as long as a contiguous copy: its rows take it */

/* A row's pieces of the current run. */
struct part {
    uint32_t row;
    uint64_t count, bytes, strided, lines, short_rows;
    double took_ns;
};

/* The current run of a thread. */
struct lane {
    uint32_t id; /* key */
    struct part parts[MOST_PARTS];
    unsigned part_count;
    struct xfa_row_key key;
    uint64_t count, bytes;        /* 0 = no run */
    uint64_t stream, first, last; /* numbers of its first and last transfer */
    bool awaited;                 /* of copies to the host: the host has one before the next */
    struct xfw_layout layout;
    bool measured; /* took_ns of the parts covers every transfer of the run */
    const struct xfp_fit *fit;
    uint64_t events[MOST_EVENTS]; /* recorded in it */
    unsigned event_count;
    struct xfw_strides strides;         /* within a device */
    uint64_t early[XFW_LEAST_ROWS - 2]; /* the same: its first transfers, not marked yet */
};

static bool is_within(const struct lane *lane)
{
    return lane->key.direction == XFT_DIR_D2D;
}

struct small {
    struct xfa_row_groups groups;
    struct xfa_table lanes; /* of the process at hand */
    uint32_t process;
    uint64_t transfers; /* of it, so far */
    struct xfw_runs marks;
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* A row's part of the run, which took so long for each of its transfers where that was not
 * measured. */
static struct xfa_runs runs_of(const struct lane *lane, const struct part *part, double batched_ns,
                               double modelled_ns)
{
    double share = (double)part->count / (double)lane->count;
    struct xfa_runs runs = {
        .transfers = part->count,
        .bytes = part->bytes,
        .modelled = lane->measured ? 0 : part->count,
        .strided = part->strided,
        .lines = part->lines,
        .short_rows = part->short_rows,
        .error = lane->fit->max_error,
    };
    xfa_exact_add(&runs.count, share);
    xfa_exact_add(&runs.took_ns, lane->measured ? part->took_ns : share * modelled_ns);
    xfa_exact_add(&runs.scattered, lane->layout.scattered ? share : 0);
    xfa_exact_add(&runs.batched_ns, share * batched_ns);
    return runs;
}

/* Section V: n consecutive transfers take Lo + k G + (n - 1) g, one of all k bytes Lo + k G. */
static void count_run(struct small *small, const struct lane *lane)
{
    const struct xfp_fit *fit = lane->fit;
    double batched = fit->Lo_ns + (double)lane->bytes * fit->G_ns_per_byte;
    double modelled = batched + (double)(lane->count - 1) * fit->g_ns;
    if (!lane->measured && isnan(modelled))
        return;
    for (unsigned i = 0; i < lane->part_count; i++) {
        const struct part *part = &lane->parts[i];
        const struct xfa_runs runs = runs_of(lane, part, batched, modelled);
        xfa_row_groups_add(&small->groups, part->row, lane->parts[0].row, &runs);
    }
    xfw_mark(&small->marks.lasts, small->process, lane->last);
    if (lane->awaited && lane->key.direction == XFT_DIR_D2H)
        xfw_mark(&small->marks.firsts, small->process, lane->first);
}

static void end_run(struct small *small, struct lane *lane)
{
    if (lane->count >= (is_within(lane) ? XFW_LEAST_ROWS : 2))
        count_run(small, lane);
    lane->count = lane->bytes = 0;
    lane->part_count = lane->event_count = 0;
    lane->awaited = false;
}

/* By the device's time the rows of the piece are what takes long: in one call they do, too. */
static bool is_of_short_rows(const struct xfa_event *event)
{
    const struct xfp_fit *fit = event->transfer.class->achievable.fit;
    const struct xfa_transfer *transfer = &event->transfer;
    double contiguous_ns = fit->Lo_ns + (double)event->bytes * fit->G_ns_per_byte;
    return transfer->class->key.shape == XFA_STRIDED && transfer->timed != XFA_TIMED_HOST &&
           transfer->achieved_ns > LEAST_OF_ROWS * contiguous_ns;
}

static double took(const struct xfa_event *event)
{
    double call = event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
    return fmax(event->transfer.achieved_ns, call);
}

/* The call blocks, of page-locked memory, and takes the host longer than the bytes take the link:
 * half of its time and more is what another such call costs, as measured and by the profile. */
static bool blocks_for_little(const struct xfa_event *event)
{
    const struct xfa_achievable_path *way = &event->transfer.class->achievable;
    const struct xfa_row_key *row = &event->transfer.class->key.row;
    bool up = row->direction == XFT_DIR_H2D;
    double link_ns = (double)event->bytes * way->fit->G_ns_per_byte;
    if (!event->transfer.blocks || (up ? row->src_mem : row->dst_mem) != XFT_MEM_PINNED ||
        took(event) < 2 * link_ns)
        return false;
    for (size_t i = 0; i < way->path_count; i++)
        if (way->paths[i] && &way->paths[i]->fit == way->fit)
            return xfp_blocking_time(way->paths[i], event->bytes).ns > 2 * link_ns;
    return false;
}

static bool is_small(const struct xfa_event *event)
{
    const struct xfp_fit *fit = event->transfer.class->achievable.fit;
    const struct xfa_class_key *key = &event->transfer.class->key;
    unsigned direction = key->row.direction;
    bool host = direction == XFT_DIR_H2D || direction == XFT_DIR_D2H;
    bool within = direction == XFT_DIR_D2D && key->shape == XFA_LINEAR &&
                  key->row.src_mem == XFT_MEM_DEVICE && key->row.dst_mem == XFT_MEM_DEVICE;
    return fit && (host || within) && !(event->flags & XFT_GRAPH) &&
           ((double)event->bytes * fit->G_ns_per_byte < fit->Lo_ns ||
            (host && blocks_for_little(event))) &&
           (direction == XFT_DIR_D2H || !is_of_short_rows(event));
}

static void begin_run(struct lane *lane, const struct xfa_event *event)
{
    lane->key = event->transfer.class->key.row;
    lane->stream = event->stream;
    lane->fit = event->transfer.class->achievable.fit;
    lane->measured = true;
    lane->strides.count = 0;
    if (is_within(lane))
        xfw_strides_take(&lane->strides, event->transfer.src, event->transfer.dst, event->bytes);
}

/* Of the same kinds of memory and the same GPUs, whatever the call site and the function. */
static bool alike(const struct xfa_row_key *x, const struct xfa_row_key *y)
{
    return x->direction == y->direction && x->src_mem == y->src_mem && x->dst_mem == y->dst_mem &&
           x->async == y->async && x->src_gpu == y->src_gpu && x->dst_gpu == y->dst_gpu;
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

static bool goes_on(struct lane *lane, const struct xfa_event *event)
{
    const struct xfa_class *class = event->transfer.class;
    return lane->count > 0 && is_small(event) && lane->stream == event->stream &&
           alike(&lane->key, &class->key.row) && part_of(lane, class->row) &&
           (!is_within(lane) || xfw_strides_take(&lane->strides, event->transfer.src,
                                                 event->transfer.dst, event->bytes));
}

/* The last transfer of the run has one behind it. */
static void mark_piece(struct small *small, struct lane *lane)
{
    if (is_within(lane) && lane->count < XFW_LEAST_ROWS - 1) {
        lane->early[lane->count - 1] = lane->last;
        return;
    }
    for (unsigned i = 0; is_within(lane) && i < XFW_LEAST_ROWS - 2; i++)
        if (lane->count == XFW_LEAST_ROWS - 1)
            xfw_mark(&small->marks.pieces, small->process, lane->early[i]);
    xfw_mark(&small->marks.pieces, small->process, lane->last);
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct small *small = self;
    const struct xfa_transfer *transfer = &event->transfer;
    struct lane *lane = xfa_table_put(&small->lanes, &event->lane);
    uint64_t number = small->transfers++;
    if (!goes_on(lane, event))
        end_run(small, lane);
    if (!is_small(event))
        return;
    if (lane->count == 0) {
        begin_run(lane, event);
        lane->first = number;
    } else {
        mark_piece(small, lane);
    }
    lane->awaited |= transfer->blocks;
    xfw_layout_add(&lane->layout, lane->count == 0, transfer->src, transfer->dst, event->bytes);
    struct part *part = part_of(lane, transfer->class->row);
    part->count++;
    part->bytes += event->bytes;
    if (transfer->class->key.shape == XFA_STRIDED) {
        part->strided++;
        part->lines += event->bytes / transfer->width;
    }
    part->short_rows += is_of_short_rows(event);
    part->took_ns += isnan(transfer->achieved_ns) ? 0 : took(event);
    lane->last = number;
    lane->count++;
    lane->bytes += event->bytes;
    lane->measured = lane->measured && !isnan(transfer->achieved_ns);
}

static bool is_of_run(const struct lane *lane, uint64_t event)
{
    for (unsigned i = 0; i < lane->event_count; i++)
        if (lane->events[i] == event)
            return true;
    return false;
}

/* A wait for the run's copies, and what its stream was given before. */
static bool is_for_run(const struct lane *lane, const struct xfa_event *event)
{
    if (event->wait.what == XFT_SYNC_STREAM)
        return event->flags & XFT_STREAM_KNOWN && event->stream == lane->stream;
    return event->wait.what == XFT_SYNC_EVENT && is_of_run(lane, event->wait.event);
}

static void event(void *self, const struct xfa_event *event)
{
    struct small *small = self;
    struct lane *lane = xfa_table_get(&small->lanes, &event->lane);
    if (!lane || lane->count == 0)
        return;
    bool asks = event->kind == XFT_EVENT_QUERY && event->wait.what == XFT_SYNC_EVENT;
    bool within = is_within(lane);
    if (!within && event->kind == XFT_EVENT_RECORD && lane->event_count < MOST_EVENTS)
        lane->events[lane->event_count++] = event->wait.event;
    else if (!within && event->kind == XFT_EVENT_SYNC && is_for_run(lane, event))
        lane->awaited = true;
    else if (within || !asks || is_of_run(lane, event->wait.event))
        end_run(small, lane);
}

static uint64_t process(void *self, struct xfa_process *process)
{
    struct small *small = self;
    xfa_table_init(&small->lanes, sizeof(uint32_t), sizeof(struct lane));
    small->process = process->number;
    small->transfers = 0;
    return XFA_ALL_KINDS;
}

static void end(void *self, struct xfa_process *process)
{
    struct small *small = self;
    for (size_t i = 0; i < small->lanes.count; i++)
        end_run(small, xfa_table_at(&small->lanes, i));
    xfa_table_free(&small->lanes);
}

static struct xfa_observer observe(void *self)
{
    static const uint32_t ends =
        XFA_RUN_ENDS | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_UNREGISTER);
    return (struct xfa_observer){.name = "small transfers",
                                 .kinds = ends,
                                 .self = self,
                                 .aside = true,
                                 .shared = true,
                                 .process = process,
                                 .event = event,
                                 .transfer = transfer,
                                 .end = end};
}

static void release(void *self)
{
    struct small *small = self;
    xfa_row_groups_free(&small->groups);
    xfw_runs_free(&small->marks);
}

/* ---- divided --------------------------------------------------------------------------------- */

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct small *small = self;
    xfa_row_groups_give(&small->groups, parcel);
    xfw_marks_give(&small->marks.firsts, parcel);
    xfw_marks_give(&small->marks.pieces, parcel);
    xfw_marks_give(&small->marks.lasts, parcel);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct small *small = self;
    xfa_row_groups_take(&small->groups, analysis, from);
    xfw_marks_take(&small->marks.firsts, from, analysis->run->process_count);
    xfw_marks_take(&small->marks.pieces, from, analysis->run->process_count);
    xfw_marks_take(&small->marks.lasts, from, analysis->run->process_count);
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* Rows stay as they lie. Packed, or as a batch: whichever takes less for the average run of the
 * group. Contiguous pieces need no packing. */
static enum xfa_remedy_kind remedy_of(const struct xfa_analysis *analysis,
                                      const struct xfa_row *row, const struct xfa_runs *runs)
{
    enum xft_direction direction = row->key.direction;
    if (direction == XFT_DIR_D2D)
        return XFA_REMEDY_BATCH_WITHIN;
    if (direction == XFT_DIR_D2H && 2 * runs->short_rows >= runs->transfers)
        return XFA_REMEDY_GATHER;
    if (runs->strided == runs->transfers)
        return XFA_REMEDY_BATCH_ROWS;
    int gpu = direction == XFT_DIR_H2D ? row->key.dst_gpu : row->key.src_gpu;
    double count = xfa_exact_value(&runs->count);
    uint64_t pieces = (uint64_t)((double)runs->transfers / count);
    uint64_t bytes = (uint64_t)((double)runs->bytes / count);
    double packed = xfa_exact_value(&runs->batched_ns) / count +
                    xfa_exact_value(&runs->scattered) / count *
                        xfw_pack_ns(&analysis->achievable, pieces, bytes, XFW_LIKELY);
    double batch = xfw_batch_ns(&analysis->achievable, direction, gpu, pieces, bytes, XFW_LIKELY);
    return batch < packed ? XFA_REMEDY_BATCH_CALL : XFA_REMEDY_BATCH;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct small *small = sums;
    if (!xfa_row_groups_gain(&small->groups, analysis, row, gain))
        return false;
    uint32_t first = xfa_row_groups_first(&small->groups, (uint32_t)row);
    const struct xfa_row *what = xfa_analysis_row(analysis, first);
    gain->reckoning = XFA_RECKONED_BATCHED;
    gain->remedy =
        xfa_remedy_for(what, remedy_of(analysis, what, &small->groups.rows[first].group));
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct small *small = sums;
    struct xfw_set rows = xfa_row_groups_whole(&small->groups, finding);
    enum xfw_packing packing = finding->remedy.kind == XFA_REMEDY_BATCH_CALL     ? XFW_PACK_BATCH
                               : finding->remedy.kind == XFA_REMEDY_BATCH_ROWS   ? XFW_PACK_ROWS
                               : finding->remedy.kind == XFA_REMEDY_BATCH_WITHIN ? XFW_PACK_WITHIN
                               : finding->remedy.kind == XFA_REMEDY_GATHER       ? XFW_PACK_GATHER
                                                                                 : XFW_PACK;
    return xfw_change_pack(analysis, &small->marks, &rows, packing);
}

const struct xfa_finding_kind xfa_kind_small = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct small),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
};
