#include "analyzer/compare/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/figures.h"

#define WORK                                                                                       \
    (XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_SET) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) |     \
     XFA_KIND(XFT_EVENT_HOST_FUNCTION) | XFA_KIND(XFT_EVENT_PREFETCH))
#define WAITS (XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))

/* ---- the walk -------------------------------------------------------------------------------- */

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct xfa_times *times = self;
    times->first_ns = times->last_ns = 0;
    return WORK | WAITS | XFA_KIND(XFT_EVENT_KERNEL);
}

static void note_call(struct xfa_times *times, const struct xfa_event *event, bool work)
{
    if (work && times->first_ns == 0)
        times->first_ns = times->last_ns = event->start_ns;
    if (times->first_ns && event->end_ns > times->last_ns)
        times->last_ns = event->end_ns;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct xfa_times *times = self;
    if (event->kind != XFT_EVENT_KERNEL) {
        note_call(times, event, XFA_KIND(event->kind) & WORK);
        return;
    }
    times->kernels++;
    times->kernel_ns +=
        event->end_ns > event->start_ns ? (double)(event->end_ns - event->start_ns) : 0;
}

/* Keeps every n-th time, from the first on. When there is no room, every other one is dropped. */
static void keep(struct xfa_size_times *cell, double ns)
{
    if (cell->every == 0)
        cell->every = 1;
    if (cell->count++ % cell->every == 0 && cell->kept == XFA_KEPT_TIMES) {
        for (size_t i = 0; i < XFA_KEPT_TIMES / 2; i++)
            cell->times[i] = cell->times[2 * i];
        cell->kept = XFA_KEPT_TIMES / 2;
        cell->every *= 2;
    }
    if ((cell->count - 1) % cell->every == 0)
        cell->times[cell->kept++] = (float)ns;
    cell->ns += ns;
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct xfa_times *times = self;
    const struct xfa_transfer *transfer = &event->transfer;
    uint32_t row = transfer->class->row;
    struct xfa_size_key key = {row, xfa_size_class(event->bytes)};
    note_call(times, event, true);
    if (isnan(transfer->achieved_ns))
        return;
    struct xfa_size_times *cell = xfa_table_get(&times->cells, &key);
    if (!cell && times->cells.count < XFA_MOST_SIZES)
        cell = xfa_table_put(&times->cells, &key);
    if (cell) {
        keep(cell, transfer->achieved_ns);
        return;
    }
    struct xfa_set_of_rows *rows = &times->rows;
    rows->beyond = xfa_grown(rows->beyond, &rows->capacity, &rows->count, row, 1);
    rows->beyond[row] = true;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfa_times *times = self;
    if (times->last_ns > times->first_ns)
        times->span_ns += (double)(times->last_ns - times->first_ns);
}

struct xfa_observer xfa_times_observer(struct xfa_times *times)
{
    xfa_table_init(&times->cells, sizeof(struct xfa_size_key), sizeof(struct xfa_size_times));
    return (struct xfa_observer){
        .name = "times",
        .kinds = WORK | WAITS | XFA_KIND(XFT_EVENT_KERNEL),
        .self = times,
        .process = begin_process,
        .event = take_event,
        .transfer = take_transfer,
        .end = end_process,
    };
}

void xfa_times_free(struct xfa_times *times)
{
    xfa_table_free(&times->cells);
    free(times->rows.beyond);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

#define FEW_LOW 0.5 /* bounds of sizes with too few transfers, as parts of their time */
#define FEW_HIGH 2.0

static void add_cell(struct xfa_bounds *bounds, const struct xfa_size_times *cell)
{
    float sorted[XFA_KEPT_TIMES];
    double count = (double)cell->count, mean = cell->ns / count;
    if (cell->kept < XFA_LEAST_TIMES) {
        bounds->low += FEW_LOW * cell->ns;
        bounds->high += FEW_HIGH * cell->ns;
        return;
    }
    memcpy(sorted, cell->times, cell->kept * sizeof *sorted);
    qsort(sorted, cell->kept, sizeof *sorted, ascending);
    bounds->low += count * fmin(mean, sorted[(cell->kept - 1) / 4]);
    bounds->high += count * fmax(mean, sorted[cell->kept - 1 - (cell->kept - 1) / 4]);
}

struct xfa_bounds *xfa_times_bounds(const struct xfa_times *times, size_t row_count)
{
    struct xfa_bounds *bounds = xfa_alloc((row_count + 1) * sizeof *bounds);
    /* ns by row: the time of sizes with too few transfers, less that of the others. */
    double *unknown_ns = xfa_alloc((row_count + 1) * sizeof *unknown_ns);
    for (size_t i = 0; i < times->cells.count; i++) {
        const struct xfa_size_times *cell = xfa_table_at(&times->cells, i);
        if (cell->key.row >= row_count)
            continue;
        add_cell(&bounds[cell->key.row], cell);
        unknown_ns[cell->key.row] += cell->kept < XFA_LEAST_TIMES ? cell->ns : -cell->ns;
    }
    for (size_t i = 0; i < row_count; i++)
        if (unknown_ns[i] >= 0 || (i < times->rows.count && times->rows.beyond[i]))
            bounds[i] = (struct xfa_bounds){NAN, NAN};
    free(unknown_ns);
    return bounds;
}
