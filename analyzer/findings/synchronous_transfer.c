/*
 * synchronous-transfer: the host waits in a copy that blocks. Lost: host time, what the calls took
 * beyond an asynchronous submission. The host could work in that time; what the run would save is
 * less: whatif/changes/waits.h says when the host is taken to wait for the copy instead.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/pageable_uses.h"
#include "analyzer/whatif/changes/changes.h"

#include <math.h>

static enum xfa_remedy_kind remedy(const struct xfa_row *row)
{
    if (row->key.async && row->site->dialect != XFA_DIALECT_PYTORCH)
        return XFA_REMEDY_PIN_FOR_ASYNC;
    return xfa_row_pageable(&row->key) ? XFA_REMEDY_PIN_ASYNCHRONOUS : XFA_REMEDY_ASYNCHRONOUS;
}

/* Does page-locking pay by itself, by the profile? True where it has no figures. Asked of Async
 * copies, and of memory that is used once, which cannot be page-locked before. */
static bool pays(const struct xfa_analysis *analysis, const void *sums, size_t row)
{
    const struct xfa_figures *figures = &analysis->rows[row];
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    struct xfa_pageable_costs costs = xfa_pageable_costs_of(sums, analysis, what);
    bool asked = remedy(what) == XFA_REMEDY_PIN_FOR_ASYNC ||
                 (remedy(what) == XFA_REMEDY_PIN_ASYNCHRONOUS && !xfa_pageable_again(&costs));
    return !asked || costs.copies == 0 || isnan(costs.pinned_ns) ||
           xfa_pageable_way(&costs, figures->device.ns + figures->host.ns) != XFA_REMEDY_KINDS;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_figures *figures = &analysis->rows[row];
    bool device = what->key.direction == XFT_DIR_H2D || what->key.direction == XFT_DIR_D2H;
    if (!device || figures->blocked.transfers == 0)
        return false;
    if (!pays(analysis, sums, row))
        return false;
    bool priced = figures->beyond.transfers > 0;
    gain->transfers = figures->blocked.transfers;
    gain->bytes = figures->blocked.bytes;
    gain->achieved_ns = figures->blocked.ns;
    gain->lost_ns = priced ? figures->beyond.ns : NAN;
    gain->weight_ns = figures->blocked.ns;
    gain->achieved_basis = XFA_BASIS_HOST;
    gain->achievable_basis = priced ? XFA_BASIS_MEASURED : XFA_BASIS_UNKNOWN;
    gain->reckoning = priced ? XFA_RECKONED_SUBMITTED : XFA_RECKONED_SUBMIT_UNKNOWN;
    gain->remedy = xfa_remedy_for(what, remedy(what));
    gain->assumed = what->key.direction == XFT_DIR_D2H
                        ? "the host does not need the result before the next longer work of its own"
                        : "the host writes the memory only right before it is sent again";
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    if (!analysis->profile)
        return NULL;
    if (finding->remedy.kind != XFA_REMEDY_ASYNCHRONOUS)
        return xfa_pageable_change(
            sums, analysis, finding,
            (struct xfw_times_terms){.pinning = XFW_PIN_ONCE, .asynchronous = true});
    struct xfw_set classes = xfa_finding_classes(analysis, finding);
    return xfw_change_async(analysis, &classes);
}

const struct xfa_finding_kind xfa_kind_synchronous = {
    .look = look,
    .change = change,
    .sums_of = &xfa_kind_pageable,
};
