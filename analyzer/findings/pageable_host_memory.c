/*
 * pageable-host-memory: the driver stages copies from and to pageable memory through buffers of
 * its own. Lost: achieved time minus that of a page-locked copy of the same size, per transfer.
 *
 * Of three remedies the one that takes the least time in all is advised, by the profile's figures:
 * page-locking each buffer once (buffers are distinguished by addresses), page-locking around each
 * use where hardly any buffer is used twice, or staging with several threads. Where none takes less
 * than the driver did, nothing is advised: page-locking memory for one use takes longer than what
 * it saves. Memory that is used again is tried then, and stays if the replayed run gains.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/pageable_uses.h"

#include <math.h>

/* False: nothing takes less. */
static bool choose(const struct xfa_pageable_costs *costs, double achieved_ns,
                   struct xfa_gain *gain)
{
    enum xfa_remedy_kind way = xfa_pageable_way(costs, achieved_ns);
    if (way == XFA_REMEDY_KINDS)
        return false;
    gain->remedy.kind = way;
    if (way == XFA_REMEDY_STAGE) {
        gain->remedy.threads = (int)costs->threads;
        gain->remedy.buffers = XFW_STAGE_PIECES;
        gain->remedy.buffer_kib = (int)(XFW_STAGE_PIECE >> 10);
        gain->assumed = "processors are idle while the program copies";
    } else if (isnan(costs->once_ns)) {
        gain->assumed = "the memory is page-locked once; the profile does not have the time of "
                        "that, and it does not count";
    }
    return true;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_figures *figures = &analysis->rows[row];
    if (!xfa_is_pageable_row(what))
        return false;
    xfa_gain_of(gain, figures);
    gain->weight_ns = isnan(gain->achieved_ns) ? (double)figures->bytes * XFA_STAND_IN_NS_PER_BYTE
                                               : gain->achieved_ns;
    gain->reckoning = isnan(gain->lost_ns) ? XFA_RECKONED_PINNED_UNKNOWN : XFA_RECKONED_PINNED;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_PIN);
    struct xfa_pageable_costs costs = xfa_pageable_costs_of(sums, analysis, what);
    if (costs.copies == 0 || isnan(costs.pinned_ns))
        return true; /* nothing is known of page-locked memory, or of such copies */
    return choose(&costs, gain->achieved_ns, gain);
}

#define LEAST_TRIED 16 /* copies */

/* The one on trial with this remedy, or a new one: what pays by itself does not depend on it. */
static struct xfa_finding *trial_for(struct xfa_findings *findings, size_t first,
                                     const struct xfa_remedy *remedy)
{
    for (size_t i = first; i < findings->count; i++)
        if (findings->items[i].remedy.to_host == remedy->to_host &&
            xfa_remedy_equal(&findings->items[i].remedy, remedy))
            return &findings->items[i];
    struct xfa_finding *finding = xfa_findings_add(findings, XFA_FINDING_PAGEABLE, remedy);
    finding->lost_ns = 0;
    return finding;
}

static void try_row(const struct xfa_row *row, const struct xfa_gain *gain,
                    struct xfa_findings *findings, size_t first)
{
    struct xfa_remedy remedy = xfa_remedy_for(row, XFA_REMEDY_PIN);
    const struct xfa_finding_site site = xfa_finding_site_of_gain(row, gain);
    remedy.dialect = row->site->dialect;
    struct xfa_finding *finding = trial_for(findings, first, &remedy);
    xfa_finding_site_add(finding, &site);
    finding->transfers += site.transfers;
    finding->bytes = xfa_add(finding->bytes, site.bytes);
    finding->lost_ns += site.lost_ns;
}

/* Where page-locking takes as long as all copies are shorter for it the run may still gain: the
 * host waits for such copies, and what comes behind them. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    size_t found = findings->count;
    double least = XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run);
    for (size_t i = 0; i < analysis->row_count; i++) {
        struct xfa_gain gain = {.achieved_ns = NAN, .achievable_ns = NAN, .lost_ns = NAN};
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        bool pays = look(analysis, sums, i, &gain);
        if (pays || gain.transfers < LEAST_TRIED || gain.achieved_ns < least || row->site->within)
            continue;
        struct xfa_pageable_costs costs = xfa_pageable_costs_of(sums, analysis, row);
        if (xfa_pageable_again(&costs) && !isnan(costs.once_ns))
            try_row(row, &gain, findings, found);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    static const enum xfw_pinning ways[XFA_REMEDY_KINDS] = {
        [XFA_REMEDY_PIN] = XFW_PIN_ONCE,
        [XFA_REMEDY_PIN_PER_USE] = XFW_PIN_PER_USE,
        [XFA_REMEDY_STAGE] = XFW_STAGE,
    };
    struct xfw_times_terms terms = {.pinning = ways[finding->remedy.kind],
                                    .threads = (unsigned)finding->remedy.threads};
    return xfa_pageable_change(sums, analysis, finding, terms);
}

const struct xfa_finding_kind xfa_kind_pageable = {
    .look = look,
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct xfa_pageable_uses),
    .observe = xfa_pageable_observer,
    .free = xfa_pageable_free,
    .give = xfa_pageable_give,
    .take = xfa_pageable_take,
};
