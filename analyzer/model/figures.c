#include "analyzer/model/figures.h"

#include <math.h>
#include <stddef.h>

#include "analyzer/base/alloc.h"

static void merge_sum(struct xfa_sum *into, const struct xfa_sum *from)
{
    into->transfers += from->transfers;
    into->bytes = xfa_add(into->bytes, from->bytes);
    into->ns += from->ns;
}

static void merge_sizes(struct xfa_figures *into, const struct xfa_figures *from)
{
    if (from->transfers && (!into->transfers || from->smallest < into->smallest))
        into->smallest = from->smallest;
    if (from->largest > into->largest)
        into->largest = from->largest;
    for (size_t i = 0; i < XFA_SIZE_CLASSES; i++)
        into->sizes[i] += from->sizes[i];
}

static void merge_small(struct xfa_figures *into, const struct xfa_figures *from)
{
    merge_sum(&into->small, &from->small);
    into->small_runs += from->small_runs;
    into->small_modelled += from->small_modelled;
    into->small_batched_ns += from->small_batched_ns;
    into->small_error = fmax(into->small_error, from->small_error);
    into->small_limit =
        from->small_limit > into->small_limit ? from->small_limit : into->small_limit;
}

static void merge_same(struct xfa_figures *into, const struct xfa_figures *from)
{
    for (size_t i = 0; i < XFA_SAMES; i++) {
        merge_sum(&into->same[i].sum, &from->same[i].sum);
        into->same[i].timed += from->same[i].timed;
        into->same[i].sampled += from->same[i].sampled;
    }
}

void xfa_figures_merge(struct xfa_figures *into, const struct xfa_figures *from)
{
    merge_sizes(into, from);
    into->transfers += from->transfers;
    into->copies = xfa_add(into->copies, from->copies);
    into->bytes = xfa_add(into->bytes, from->bytes);
    into->strided += from->strided;
    merge_sum(&into->device, &from->device);
    merge_sum(&into->host, &from->host);
    merge_sum(&into->best, &from->best);
    into->best_error_ns += from->best_error_ns;
    for (size_t i = 0; i < 4; i++)
        into->best_basis[i] += from->best_basis[i];
    merge_sum(&into->lost, &from->lost);
    into->lost_achieved_ns += from->lost_achieved_ns;
    into->lost_best_ns += from->lost_best_ns;
    merge_sum(&into->blocked, &from->blocked);
    merge_sum(&into->beyond, &from->beyond);
    merge_small(into, from);
    merge_same(into, from);
}

double xfa_achieved_gbps(const struct xfa_figures *f)
{
    double ns = f->device.ns + f->host.ns;
    return ns > 0 ? ((double)f->device.bytes + (double)f->host.bytes) / ns : NAN;
}

double xfa_achievable_gbps(const struct xfa_figures *f)
{
    return f->best.ns > 0 ? (double)f->best.bytes / f->best.ns : NAN;
}

double xfa_lost_ns(const struct xfa_figures *f)
{
    return f->lost.transfers ? f->lost.ns : NAN;
}

double xfa_best_error(const struct xfa_figures *f)
{
    return f->best.ns > 0 ? f->best_error_ns / f->best.ns : NAN;
}

uint64_t xfa_typical_size(const struct xfa_figures *f)
{
    uint64_t below = 0;
    for (size_t i = 0; i < XFA_SIZE_CLASSES; i++) {
        below += f->sizes[i];
        if (below * 2 >= f->transfers)
            return i ? (uint64_t)1 << (i - 1) : 0;
    }
    return 0;
}

const char *xfa_achieved_basis(const struct xfa_figures *f)
{
    if (f->device.transfers && f->host.transfers)
        return "mixed";
    return f->device.transfers ? "device" : f->host.transfers ? "host" : NULL;
}

const char *xfa_achievable_basis(const struct xfa_figures *f)
{
    for (int basis = XFP_MODELLED; basis > XFP_UNKNOWN; basis--)
        if (f->best_basis[basis])
            return xfp_basis_word((enum xfp_basis)basis);
    return NULL;
}
