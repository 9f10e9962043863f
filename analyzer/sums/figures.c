#include "analyzer/sums/figures.h"

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

void xfa_timed_add(struct xfa_timed_sum *sum, uint64_t bytes, double achieved_ns, bool by_device)
{
    bool timed = !isnan(achieved_ns);
    sum->sum.transfers++;
    sum->sum.bytes = xfa_add(sum->sum.bytes, bytes);
    sum->sum.ns += timed ? achieved_ns : 0;
    sum->timed += timed;
    sum->by_device += timed && by_device;
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
    merge_sum(&into->sampled, &from->sampled);
    into->sampled_error_ns += from->sampled_error_ns;
    merge_sum(&into->achievable, &from->achievable);
    into->achievable_error_ns += from->achievable_error_ns;
    for (size_t i = 0; i < 4; i++)
        into->achievable_basis[i] += from->achievable_basis[i];
    merge_sum(&into->lost, &from->lost);
    into->lost_achieved_ns += from->lost_achieved_ns;
    into->lost_achievable_ns += from->lost_achievable_ns;
    merge_sum(&into->blocked, &from->blocked);
    merge_sum(&into->beyond, &from->beyond);
}

double xfa_achieved_gbps(const struct xfa_figures *f)
{
    double ns = f->device.ns + f->host.ns;
    return ns > 0 ? ((double)f->device.bytes + (double)f->host.bytes) / ns : NAN;
}

double xfa_achievable_gbps(const struct xfa_figures *f)
{
    return f->achievable.ns > 0 ? (double)f->achievable.bytes / f->achievable.ns : NAN;
}

double xfa_lost_ns(const struct xfa_figures *f)
{
    return f->lost.transfers ? f->lost.ns : NAN;
}

double xfa_achievable_error(const struct xfa_figures *f)
{
    return f->achievable.ns > 0 ? f->achievable_error_ns / f->achievable.ns : NAN;
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

enum xfa_basis xfa_timed_basis(const struct xfa_timed_sum *sum)
{
    if (sum->by_device && sum->by_device < sum->timed)
        return XFA_BASIS_MIXED;
    if (sum->by_device)
        return XFA_BASIS_DEVICE;
    return sum->timed ? XFA_BASIS_HOST : XFA_BASIS_UNKNOWN;
}

enum xfa_basis xfa_achieved_basis(const struct xfa_figures *f)
{
    if (f->device.transfers && f->host.transfers)
        return XFA_BASIS_MIXED;
    return f->device.transfers ? XFA_BASIS_DEVICE
           : f->host.transfers ? XFA_BASIS_HOST
                               : XFA_BASIS_UNKNOWN;
}

enum xfa_basis xfa_achievable_basis(const struct xfa_figures *f)
{
    if (f->achievable_basis[XFP_MODELLED])
        return XFA_BASIS_MODELLED;
    if (f->achievable_basis[XFP_INTERPOLATED])
        return XFA_BASIS_INTERPOLATED;
    return f->achievable_basis[XFP_MEASURED] ? XFA_BASIS_MEASURED : XFA_BASIS_UNKNOWN;
}

enum xfa_basis xfa_basis_of_both(enum xfa_basis a, enum xfa_basis b)
{
    if (a == XFA_BASIS_UNKNOWN || b == XFA_BASIS_UNKNOWN)
        return XFA_BASIS_UNKNOWN;
    return a == b ? a : XFA_BASIS_MIXED;
}

enum xfa_basis xfa_basis_weaker(enum xfa_basis a, enum xfa_basis b)
{
    return a < b ? a : b; /* in this order in the enum, not known before all */
}

const char *xfa_basis_word(enum xfa_basis basis)
{
    static const char *const words[] = {
        [XFA_BASIS_DEVICE] = "device",     [XFA_BASIS_HOST] = "host",
        [XFA_BASIS_SAMPLED] = "sampled",   [XFA_BASIS_MIXED] = "mixed",
        [XFA_BASIS_MODELLED] = "modelled", [XFA_BASIS_INTERPOLATED] = "interpolated",
        [XFA_BASIS_MEASURED] = "measured",
    };
    return words[basis];
}
