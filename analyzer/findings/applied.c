#include "analyzer/findings/applied.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/pageable_uses.h"
#include "analyzer/whatif/changes/costs.h"

/* All copies of pageable memory, as if they were one finding. NULL: there are none, or the profile
 * does not say what threads make of them. */
static struct xfw_change *staging(const struct xfa_findings *findings,
                                  const struct xfa_analysis *analysis)
{
    const struct xfa_pageable_uses *uses = findings->selves[XFA_FINDING_PAGEABLE];
    struct xfa_finding all = {.id = XFA_FINDING_PAGEABLE};
    unsigned threads = xfw_staging_threads(&analysis->achievable, XFT_DIR_H2D);
    if (threads == 0)
        return NULL;
    all.sites = xfa_alloc((analysis->row_count + 1) * sizeof *all.sites);
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        if (xfa_is_pageable_row(row))
            all.sites[all.site_count++] = (struct xfa_finding_site){.row = row, .site = row->site};
    }
    struct xfw_change *change = xfa_pageable_change(
        uses, analysis, &all, (struct xfw_times_terms){.pinning = XFW_APPLIED, .threads = threads});
    free(all.sites);
    return change;
}

static bool is_carried_out(const struct xfa_remedy *remedy)
{
    return remedy->kind == XFA_REMEDY_PEER_ACCESS;
}

size_t xfa_findings_applied(const struct xfa_findings *findings,
                            const struct xfa_analysis *analysis, struct xfw_change **changes,
                            size_t most, struct xfw_change **own)
{
    size_t count = 0;
    *own = staging(findings, analysis);
    if (*own && most > 0)
        changes[count++] = *own;
    for (size_t i = 0; i < findings->count && count < most; i++)
        if (findings->items[i].change && is_carried_out(&findings->items[i].remedy))
            changes[count++] = findings->items[i].change;
    return count;
}
