/*
 * small-transfers: below the half-bandwidth size Lo / G most of a transfer's time is the fixed cost
 * Lo (van Werkhoven et al., section V). A run is a sequence of such transfers that one thread makes
 * from one site into one stream. Lost: their time (each the longer one of copy and call), minus
 * the Lo + k G of one transfer of all k bytes.
 *
 * Calls of the thread that may use the data end a run: launches, memsets, waits. A CUDA event that
 * is recorded within a run ends it only when it is queried.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_EVENTS 16 /* recorded within a run */

/* Runs of one row. */
struct runs {
    uint64_t count;
    struct xfa_sum sum; /* ns: what they took, measured or by the model */
    uint64_t modelled;  /* of its transfers: by the model */
    uint64_t scattered; /* runs whose pieces are not contiguous (pack.h) */
    double batched_ns;  /* one transfer per run instead */
    double error;       /* of the model, relative */
};

/* The current run of a thread: small transfers of one row. */
struct lane {
    uint32_t id; /* key */
    uint32_t row;
    uint64_t count, bytes; /* 0 = no run */
    uint64_t stream, last; /* last: number of its last transfer */
    struct xfw_layout layout;
    double took_ns;
    bool measured; /* took_ns covers every transfer of the run */
    const struct xfp_fit *fit;
    uint64_t events[MOST_EVENTS]; /* recorded in it */
    unsigned event_count;
};

struct small {
    struct runs *rows; /* by row number */
    size_t count, capacity;
    struct xfa_table lanes; /* of the process at hand */
    uint32_t process;
    uint64_t transfers; /* of it, so far */
    struct xfw_runs marks;
};

static struct runs *runs_of(struct small *small, uint32_t row)
{
    small->rows = xfa_grown(small->rows, &small->capacity, &small->count, row, sizeof *small->rows);
    return &small->rows[row];
}

/* Section V: n consecutive transfers take Lo + k G + (n - 1) g, one of all k bytes Lo + k G. */
static void end_run(struct small *small, struct lane *lane)
{
    if (lane->count >= 2) {
        const struct xfp_fit *fit = lane->fit;
        double batched = fit->Lo_ns + (double)lane->bytes * fit->G_ns_per_byte;
        double modelled = batched + (double)(lane->count - 1) * fit->g_ns;
        double took = lane->measured ? lane->took_ns : modelled;
        if (!isnan(took)) {
            struct runs *runs = runs_of(small, lane->row);
            runs->count++;
            runs->scattered += lane->layout.scattered;
            runs->sum.transfers += lane->count;
            runs->sum.bytes = xfa_add(runs->sum.bytes, lane->bytes);
            runs->sum.ns += took;
            runs->modelled += lane->measured ? 0 : lane->count;
            runs->batched_ns += batched;
            runs->error = fmax(runs->error, fit->max_error);
            xfw_mark(&small->marks.lasts, small->process, lane->last);
        }
    }
    lane->count = lane->bytes = 0;
    lane->event_count = 0;
}

static bool is_small(const struct xfa_event *event)
{
    const struct xfp_fit *fit = event->transfer.class->achievable.fit;
    unsigned direction = event->transfer.class->key.row.direction;
    bool host = direction == XFT_DIR_H2D || direction == XFT_DIR_D2H;
    return fit && host && !(event->flags & XFT_GRAPH) &&
           (double)event->bytes * fit->G_ns_per_byte < fit->Lo_ns;
}

static double took(const struct xfa_event *event)
{
    double call = event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
    return fmax(event->transfer.achieved_ns, call);
}

static void begin_run(struct lane *lane, const struct xfa_event *event)
{
    lane->row = event->transfer.class->row;
    lane->stream = event->stream;
    lane->fit = event->transfer.class->achievable.fit;
    lane->took_ns = 0;
    lane->measured = true;
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct small *small = self;
    const struct xfa_transfer *transfer = &event->transfer;
    struct lane *lane = xfa_table_put(&small->lanes, &event->lane);
    uint64_t number = small->transfers++;
    bool one_of_it =
        is_small(event) && lane->row == transfer->class->row && lane->stream == event->stream;
    if (!one_of_it)
        end_run(small, lane);
    if (!is_small(event))
        return;
    if (lane->count == 0)
        begin_run(lane, event);
    else
        xfw_mark(&small->marks.pieces, small->process, lane->last);
    xfw_layout_add(&lane->layout, lane->count == 0, transfer->src, transfer->dst, event->bytes);
    lane->last = number;
    lane->count++;
    lane->bytes += event->bytes;
    lane->measured = lane->measured && !isnan(transfer->achieved_ns);
    lane->took_ns += isnan(transfer->achieved_ns) ? 0 : took(event);
}

static bool is_of_run(const struct lane *lane, uint64_t event)
{
    for (unsigned i = 0; i < lane->event_count; i++)
        if (lane->events[i] == event)
            return true;
    return false;
}

static void event(void *self, const struct xfa_event *event)
{
    struct small *small = self;
    struct lane *lane = xfa_table_get(&small->lanes, &event->lane);
    if (!lane || lane->count == 0)
        return;
    bool asks = event->kind == XFT_EVENT_QUERY && event->wait.what == XFT_SYNC_EVENT;
    if (event->kind == XFT_EVENT_RECORD && lane->event_count < MOST_EVENTS)
        lane->events[lane->event_count++] = event->wait.event;
    else if (!asks || is_of_run(lane, event->wait.event))
        end_run(small, lane);
}

static uint32_t process(void *self, struct xfa_process *process)
{
    struct small *small = self;
    xfa_table_init(&small->lanes, sizeof(uint32_t), sizeof(struct lane));
    small->process = process->number;
    small->transfers = 0;
    return UINT32_MAX;
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
        XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) | XFA_KIND(XFT_EVENT_SET) |
        XFA_KIND(XFT_EVENT_HOST_FUNCTION) | XFA_KIND(XFT_EVENT_PREFETCH) |
        XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY) | XFA_KIND(XFT_EVENT_WAIT) |
        XFA_KIND(XFT_EVENT_RECORD) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_UNREGISTER);
    return (struct xfa_observer){.name = "small transfers",
                                 .kinds = ends,
                                 .self = self,
                                 .aside = true,
                                 .process = process,
                                 .event = event,
                                 .transfer = transfer,
                                 .end = end};
}

static void release(void *self)
{
    struct small *small = self;
    free(small->rows);
    xfw_runs_free(&small->marks);
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* Packed, or as a batch: whichever takes less for the average run. Contiguous pieces need no
 * packing. */
static enum xfw_packing packing_of(const struct xfa_analysis *analysis, const struct xfa_row *row,
                                   const struct runs *runs)
{
    enum xft_direction direction = row->key.direction;
    int gpu = direction == XFT_DIR_H2D ? row->key.dst_gpu : row->key.src_gpu;
    uint64_t pieces = runs->sum.transfers / runs->count, bytes = runs->sum.bytes / runs->count;
    double scattered = (double)runs->scattered / (double)runs->count;
    double packed = runs->batched_ns / (double)runs->count +
                    scattered * xfw_pack_ns(&analysis->achievable, pieces, bytes, XFW_LIKELY);
    double batch = xfw_batch_ns(&analysis->achievable, direction, gpu, pieces, bytes, XFW_LIKELY);
    return batch < packed ? XFW_PACK_BATCH : XFW_PACK;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct small *small = sums;
    const struct runs *runs = row < small->count ? &small->rows[row] : NULL;
    if (!runs || runs->sum.transfers == 0)
        return false;
    gain->transfers = runs->sum.transfers;
    gain->bytes = runs->sum.bytes;
    gain->achieved_ns = runs->sum.ns;
    gain->achievable_ns = runs->batched_ns;
    gain->lost_ns = fmax(0, runs->sum.ns - runs->batched_ns);
    gain->error = runs->error;
    gain->achieved_basis = runs->modelled == 0 ? xfa_achieved_basis(&analysis->rows[row])
                           : runs->modelled == runs->sum.transfers ? XFA_BASIS_MODELLED
                                                                   : XFA_BASIS_MIXED;
    gain->achievable_basis = XFA_BASIS_MODELLED;
    gain->reckoning = XFA_RECKONED_BATCHED;
    gain->remedy =
        xfa_remedy_for(what, packing_of(analysis, what, runs) == XFW_PACK ? XFA_REMEDY_BATCH
                                                                          : XFA_REMEDY_BATCH_CALL);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct small *small = sums;
    struct xfw_set rows = {0};
    for (size_t i = 0; i < finding->site_count; i++)
        xfw_set_add(&rows, finding->sites[i].row->number);
    return xfw_change_pack(analysis, &small->marks, &rows,
                           finding->remedy.kind == XFA_REMEDY_BATCH ? XFW_PACK : XFW_PACK_BATCH);
}

const struct xfa_finding_kind xfa_kind_small = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct small),
    .observe = observe,
    .free = release,
};
