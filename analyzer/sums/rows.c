#include "analyzer/sums/rows.h"

#include <math.h>

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* ---- adding up ------------------------------------------------------------------------------- */

static void add(struct xfa_sum *sum, struct xfa_exact *time, uint64_t bytes, double ns)
{
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, bytes);
    xfa_exact_add(time, ns);
}

static void count_size(struct xfa_figures *figures, const struct xfa_event *call)
{
    uint64_t bytes = call->bytes;
    if (figures->transfers == 0 || bytes < figures->smallest)
        figures->smallest = bytes;
    if (bytes > figures->largest)
        figures->largest = bytes;
    figures->sizes[xfa_size_class(bytes)]++;
    figures->transfers++;
    figures->copies += call->transfer.copies ? call->transfer.copies : 1;
    figures->bytes = xfa_add(figures->bytes, bytes);
    figures->strided +=
        call->transfer.width != 0 && call->transfer.width < bytes && call->transfer.copies <= 1;
}

static void count_blocked(struct xfa_figures *figures, struct xfa_row_times *times,
                          const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    double beyond = transfer->host_ns - transfer->submit_ns;
    add(&figures->blocked, &times->blocked, event->bytes, transfer->host_ns);
    if (beyond == beyond) /* the submission's cost is known */
        add(&figures->beyond, &times->beyond, event->bytes, beyond > 0 ? beyond : 0);
}

static void count_achievable(struct xfa_figures *figures, struct xfa_row_times *times,
                             const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfp_estimate *estimate = &transfer->achievable;
    figures->achievable_basis[estimate->basis & 3]++;
    if (estimate->basis == XFP_UNKNOWN)
        return;
    add(&figures->achievable, &times->achievable, event->bytes, estimate->ns);
    xfa_exact_add(&times->achievable_error, estimate->ns * estimate->error);
    if (transfer->timed == XFA_TIMED_NOT)
        return;
    add(&figures->lost, &times->lost, event->bytes, transfer->lost_ns);
    xfa_exact_add(&times->lost_achieved, transfer->achieved_ns);
    xfa_exact_add(&times->lost_achievable, estimate->ns);
}

static void count_sampled(struct xfa_figures *figures, struct xfa_row_times *times,
                          const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    add(&figures->sampled, &times->sampled, event->bytes, transfer->achieved_ns);
    xfa_exact_add(&times->sampled_error, isnan(transfer->class_error)
                                             ? transfer->achieved_ns
                                             : transfer->achieved_ns * transfer->class_error);
}

static struct xfa_figures *figures_of(struct xfa_rows *rows, uint32_t class)
{
    rows->classes =
        xfa_grown(rows->classes, &rows->capacity, &rows->count, class, sizeof *rows->classes);
    rows->times =
        xfa_grown(rows->times, &rows->time_capacity, &rows->time_count, class, sizeof *rows->times);
    return &rows->classes[class];
}

static void take(void *self, const struct xfa_event *event)
{
    struct xfa_rows *rows = self;
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_figures *figures = figures_of(rows, transfer->class->number);
    struct xfa_row_times *times = &rows->times[transfer->class->number];
    count_size(figures, event);
    if (transfer->blocks)
        count_blocked(figures, times, event);
    if (transfer->timed == XFA_TIMED_DEVICE)
        add(&figures->device, &times->device, event->bytes, transfer->achieved_ns);
    else if (transfer->timed == XFA_TIMED_HOST)
        add(&figures->host, &times->host, event->bytes, transfer->achieved_ns);
    else if (transfer->timed == XFA_TIMED_SAMPLE)
        count_sampled(figures, times, event);
    count_achievable(figures, times, event);
}

struct xfa_observer xfa_rows_observer(struct xfa_rows *rows)
{
    return (struct xfa_observer){
        .name = "rows", .self = rows, .aside = true, .divided = true, .transfer = take};
}

/* ---- members of a team ----------------------------------------------------------------------- */

void xfa_rows_give(const struct xfa_rows *rows, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, rows->count);
    xfa_parcel_put(parcel, rows->classes, rows->count * sizeof *rows->classes);
    xfa_parcel_put(parcel, rows->times, rows->count * sizeof *rows->times);
}

static void merge_times(struct xfa_row_times *into, const struct xfa_row_times *from)
{
    xfa_exact_merge(&into->device, &from->device);
    xfa_exact_merge(&into->host, &from->host);
    xfa_exact_merge(&into->sampled, &from->sampled);
    xfa_exact_merge(&into->sampled_error, &from->sampled_error);
    xfa_exact_merge(&into->achievable, &from->achievable);
    xfa_exact_merge(&into->achievable_error, &from->achievable_error);
    xfa_exact_merge(&into->lost, &from->lost);
    xfa_exact_merge(&into->lost_achieved, &from->lost_achieved);
    xfa_exact_merge(&into->lost_achievable, &from->lost_achievable);
    xfa_exact_merge(&into->blocked, &from->blocked);
    xfa_exact_merge(&into->beyond, &from->beyond);
}

void xfa_rows_take(struct xfa_rows *rows, struct xfa_unpacking *from, size_t classes)
{
    uint64_t count = xfa_unpack_number(from);
    from->bad = from->bad || count > classes;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct xfa_figures more;
        xfa_unpack_bytes(from, &more, sizeof more);
        xfa_figures_merge(figures_of(rows, i), &more);
    }
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct xfa_row_times more;
        xfa_unpack_bytes(from, &more, sizeof more);
        merge_times(&rows->times[i], &more);
    }
}

void xfa_rows_finish(struct xfa_rows *rows)
{
    for (size_t i = 0; i < rows->time_count; i++) {
        const struct xfa_row_times *times = &rows->times[i];
        struct xfa_figures *figures = &rows->classes[i];
        figures->device.ns = xfa_exact_value(&times->device);
        figures->host.ns = xfa_exact_value(&times->host);
        figures->sampled.ns = xfa_exact_value(&times->sampled);
        figures->sampled_error_ns = xfa_exact_value(&times->sampled_error);
        figures->achievable.ns = xfa_exact_value(&times->achievable);
        figures->achievable_error_ns = xfa_exact_value(&times->achievable_error);
        figures->lost.ns = xfa_exact_value(&times->lost);
        figures->lost_achieved_ns = xfa_exact_value(&times->lost_achieved);
        figures->lost_achievable_ns = xfa_exact_value(&times->lost_achievable);
        figures->blocked.ns = xfa_exact_value(&times->blocked);
        figures->beyond.ns = xfa_exact_value(&times->beyond);
    }
    free(rows->times);
    rows->times = NULL;
    rows->time_count = rows->time_capacity = 0;
    rows->classes = xfa_trimmed(rows->classes, &rows->capacity, rows->count, sizeof *rows->classes);
}

/* ---- rows ------------------------------------------------------------------------------------ */

const struct xfa_figures *xfa_rows_class(const struct xfa_rows *rows, uint32_t number)
{
    static const struct xfa_figures none;
    return number < rows->count ? &rows->classes[number] : &none;
}

struct xfa_figures *xfa_rows_figures(const struct xfa_rows *rows, const struct xfa_classes *classes)
{
    struct xfa_figures *figures = xfa_alloc((classes->rows.count + 1) * sizeof *figures);
    for (size_t i = 0; i < classes->classes.count; i++)
        xfa_figures_merge(&figures[xfa_class_at(classes, i)->row],
                          xfa_rows_class(rows, (uint32_t)i));
    return figures;
}

void xfa_rows_free(struct xfa_rows *rows)
{
    free(rows->classes);
    free(rows->times);
    *rows = (struct xfa_rows){0};
}
