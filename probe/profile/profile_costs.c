/*
 * Queries of a machine profile for costs that are not transfers: by name, and by size.
 */
#include "xferscope/profile.h"

#include <math.h>
#include <string.h>

/* So many times the largest size that was measured, a line is no more than a guess: page-locking
 * 160 MiB took four times as long as a line to 16 MiB has it
 * (docs/results/apply-within-h100-2026-11-28.md). */
#define FAR 4
#define FAR_ERROR 0.5

const struct xfp_scalar *xfp_find_scalar(const struct xfp_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->scalar_count; i++)
        if (!strcmp(profile->scalars[i].name, name))
            return &profile->scalars[i];
    return NULL;
}

const struct xfp_table *xfp_find_table(const struct xfp_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->table_count; i++)
        if (!strcmp(profile->tables[i].name, name))
            return &profile->tables[i];
    return NULL;
}

/* Half the interval's larger side, relative to the median. */
static double interval(const struct xfp_cost *cost)
{
    return cost->median > 0
               ? fmax(cost->ci_high - cost->median, cost->median - cost->ci_low) / cost->median
               : 0;
}

static double line_at(const struct xfp_row *a, const struct xfp_row *b, uint64_t at)
{
    double share = ((double)at - (double)a->at) / ((double)b->at - (double)a->at);

    return a->cost.median + share * (b->cost.median - a->cost.median);
}

struct xfp_estimate xfp_table_at(const struct xfp_table *table, uint64_t at)
{
    const struct xfp_row *rows = table->rows, *a, *b;
    size_t count = table->row_count, after = 0;
    struct xfp_estimate e = {XFP_UNKNOWN, 0, 0};

    while (after < count && rows[after].at < at)
        after++;
    if (after < count && (rows[after].at == at || after == 0)) {
        e.basis = rows[after].at == at ? XFP_MEASURED : XFP_INTERPOLATED;
        e.ns = rows[after].cost.median;
        e.error = interval(&rows[after].cost);
        return e;
    }
    if (count < 2)
        return e;
    e.basis = after < count ? XFP_INTERPOLATED : XFP_MODELLED;
    b = after < count ? &rows[after] : &rows[count - 1];
    a = b - 1;
    e.ns = fmax(line_at(a, b, at), after < count ? 0 : b->cost.median);
    e.error = fmax(interval(&a->cost), interval(&b->cost));
    if (at / FAR > b->at)
        e.error = fmax(e.error, FAR_ERROR);
    return e;
}

uint64_t xfp_table_moved(const struct xfp_table *table, uint64_t at)
{
    switch (xfp_by_of(table->by)) {
    case XFP_BY_BYTES_EACH_WAY:
        return 2 * at;
    case XFP_BY_ROW_BYTES:
    case XFP_BY_THREADS:
        return table->bytes;
    case XFP_BY_COPIES:
        return at * table->bytes;
    default:
        return 0;
    }
}
