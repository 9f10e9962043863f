#include "analyzer/plan/remote.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/pageable_uses.h"
#include "analyzer/findings/remote_numa_node.h"

#define WORTH 0.9 /* as preload/apply/site/proof.c has it */

/* ---- a row ----------------------------------------------------------------------------------- */

/* Of all classes of a row that copy pageable memory in one piece. */
struct wanted {
    int node;   /* -1: none */
    bool mixed; /* several, or one is not known */
    uint64_t transfers, bytes;
};

static void want(struct wanted *wanted, int node)
{
    wanted->mixed |= node < 0 || (wanted->node >= 0 && wanted->node != node);
    wanted->node = node;
}

/* The node that such copies want: the best one, or the one where the memory is. False: they are
 * none of pageable memory. */
static bool near_of(const struct xfa_analysis *analysis, const struct xfa_class_key *key,
                    struct xfa_near *near, int *node)
{
    struct xfa_host_side side;
    if (!xfa_host_side_of(key, &side) || side.memory != XFT_MEM_PAGEABLE)
        return false;
    *near = (struct xfa_near){.node = -1};
    if (analysis->achievable.profile)
        *near = xfa_near_of(analysis->achievable.profile, (enum xft_direction)key->row.direction,
                            XFT_MEM_PAGEABLE, side.node,
                            xfa_achievable_gpu(&analysis->achievable, side.gpu));
    *node = near->node >= 0 ? near->node : side.node;
    return true;
}

static void add_row(const struct xfa_analysis *analysis, const struct xfa_row *row,
                    struct wanted *wanted)
{
    const struct xfa_class *class = NULL;
    struct xfa_near near;
    int node;
    while ((class = xfa_row_class(&analysis->classes, row, class))) {
        const struct xfa_figures *figures = xfa_rows_class(&analysis->of_classes, class->number);
        if (figures->transfers == 0 || !near_of(analysis, &class->key, &near, &node))
            continue;
        want(wanted, node);
        wanted->transfers += figures->transfers;
        wanted->bytes = xfa_add(wanted->bytes, figures->bytes);
    }
}

/* Either direction, and whatever GPU: apply knows copies by their call site. */
static bool is_mixed(const struct xfa_analysis *analysis, const struct xfa_site *site)
{
    struct wanted wanted = {.node = -1};
    for (size_t i = 0; i < analysis->row_count; i++)
        if (xfa_analysis_row(analysis, i)->site == site)
            add_row(analysis, xfa_analysis_row(analysis, i), &wanted);
    return wanted.mixed;
}

/* ---- what it may save ------------------------------------------------------------------------ */

/* What such a copy took, at most what the profile has for the node where the memory is. NAN: not
 * known. */
static double took_ns(const struct xfa_figures *figures, double here_ns, double bytes)
{
    double known = (double)figures->device.bytes + (double)figures->host.bytes;
    double ns = (figures->device.ns + figures->host.ns) / known * bytes;
    return known > 0 ? fmin(ns, here_ns) : NAN;
}

static double saved_ns(const struct xfa_figures *figures, const struct xfa_near *near,
                       const struct xfa_pageable_size *size)
{
    uint64_t bytes = size->bytes / size->copies;
    struct xfp_estimate here = xfp_time(near->here, bytes), there = xfp_time(near->near, bytes);
    if (here.basis == XFP_UNKNOWN || there.basis == XFP_UNKNOWN || !(there.ns < WORTH * here.ns))
        return 0;
    double saved = took_ns(figures, here.ns, (double)bytes) - there.ns;
    return saved > 0 ? (double)size->copies * saved : 0;
}

struct cost {
    double saved_ns, moved_bytes;
};

/* Of the copies of a row that are of memory elsewhere. */
static struct cost cost_of(const struct xfa_analysis *analysis,
                           const struct xfa_pageable_uses *uses, const struct xfa_row *row)
{
    struct cost cost = {0};
    struct xfa_near near;
    int node;
    for (size_t i = 0; i < uses->sizes.count; i++) {
        const struct xfa_pageable_size *size = xfa_table_at(&uses->sizes, i);
        const struct xfa_class *class = xfa_class_at(&analysis->classes, size->key.class);
        if (xfa_analysis_row(analysis, class->row) != row ||
            !near_of(analysis, &class->key, &near, &node) || near.node < 0)
            continue;
        cost.saved_ns +=
            saved_ns(xfa_rows_class(&analysis->of_classes, class->number), &near, size);
        cost.moved_bytes += (double)size->new_bytes;
    }
    return cost;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct xfa_remote_site *xfa_remote_sites(const struct xfa_analysis *analysis,
                                         const struct xfa_findings *findings, size_t *count)
{
    const struct xfa_pageable_uses *uses = findings->selves[XFA_FINDING_PAGEABLE];
    struct xfa_remote_site *sites = xfa_alloc((analysis->row_count + 1) * sizeof *sites);
    *count = 0;
    for (size_t i = 0; i < analysis->row_count && uses; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        struct wanted wanted = {.node = -1};
        if (!xfa_is_pageable_row(row))
            continue;
        struct cost cost = cost_of(analysis, uses, row);
        if (!(cost.saved_ns > cost.moved_bytes * XFA_MOVING_NS_PER_BYTE) ||
            is_mixed(analysis, row->site))
            continue;
        add_row(analysis, row, &wanted);
        sites[(*count)++] = (struct xfa_remote_site){
            .site = {.row = row,
                     .site = row->site,
                     .function = xfa_row_called(row),
                     .transfers = wanted.transfers,
                     .bytes = wanted.bytes,
                     .lost_ns = cost.saved_ns,
                     .reckoning = XFA_RECKONED_NEAR_NODE},
            .node = wanted.node,
            .to_host = row->key.direction == XFT_DIR_D2H,
        };
    }
    return sites;
}
