#include "analyzer/sums/rows.h"

#include <math.h>

#include <stdlib.h>

#include "analyzer/base/alloc.h"

static void add(struct xfa_sum *sum, uint64_t bytes, double ns)
{
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, bytes);
    sum->ns += ns;
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

static void count_blocked(struct xfa_figures *figures, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    double beyond = transfer->host_ns - transfer->submit_ns;
    add(&figures->blocked, event->bytes, transfer->host_ns);
    if (beyond == beyond) /* the submission's cost is known */
        add(&figures->beyond, event->bytes, beyond > 0 ? beyond : 0);
}

static void count_achievable(struct xfa_figures *figures, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfp_estimate *estimate = &transfer->achievable;
    figures->achievable_basis[estimate->basis & 3]++;
    if (estimate->basis == XFP_UNKNOWN)
        return;
    add(&figures->achievable, event->bytes, estimate->ns);
    figures->achievable_error_ns += estimate->ns * estimate->error;
    if (transfer->timed == XFA_TIMED_NOT)
        return;
    add(&figures->lost, event->bytes, transfer->lost_ns);
    figures->lost_achieved_ns += transfer->achieved_ns;
    figures->lost_achievable_ns += estimate->ns;
}

static void count_sampled(struct xfa_figures *figures, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    add(&figures->sampled, event->bytes, transfer->achieved_ns);
    figures->sampled_error_ns += isnan(transfer->class_error)
                                     ? transfer->achieved_ns
                                     : transfer->achieved_ns * transfer->class_error;
}

static struct xfa_figures *figures_of(struct xfa_rows *rows, uint32_t class)
{
    rows->classes =
        xfa_grown(rows->classes, &rows->capacity, &rows->count, class, sizeof *rows->classes);
    return &rows->classes[class];
}

static void take(void *self, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_figures *figures = figures_of(self, transfer->class->number);
    count_size(figures, event);
    if (transfer->blocks)
        count_blocked(figures, event);
    if (transfer->timed == XFA_TIMED_DEVICE)
        add(&figures->device, event->bytes, transfer->achieved_ns);
    else if (transfer->timed == XFA_TIMED_HOST)
        add(&figures->host, event->bytes, transfer->achieved_ns);
    else if (transfer->timed == XFA_TIMED_SAMPLE)
        count_sampled(figures, event);
    count_achievable(figures, event);
}

struct xfa_observer xfa_rows_observer(struct xfa_rows *rows)
{
    return (struct xfa_observer){.name = "rows", .self = rows, .aside = true, .transfer = take};
}

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
    *rows = (struct xfa_rows){0};
}
