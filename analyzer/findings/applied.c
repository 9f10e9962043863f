#include "analyzer/findings/applied.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/pageable_uses.h"
#include "analyzer/findings/taken.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/locked.h"

/* All copies of pageable memory, as if they were one finding. NULL: there are none, or the profile
 * does not say what threads make of them. */
static struct xfw_change *staging(const struct xfa_findings *findings,
                                  const struct xfa_analysis *analysis)
{
    const struct xfa_pageable_uses *uses = findings->selves[XFA_FINDING_PAGEABLE];
    struct xfa_finding all = {.id = XFA_FINDING_PAGEABLE};
    unsigned threads = xfw_applied_threads(&analysis->achievable, -1);
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

/* All large allocations of page-locked memory. NULL: there are none, or the profile does not say
 * what threads make of them. */
static struct xfw_change *locking(const struct xfa_findings *findings,
                                  const struct xfa_analysis *analysis)
{
    const struct xfa_taken *taken = findings->selves[XFA_FINDING_PAGE_LOCKING];
    struct xfw_set sites = {0};
    bool any = false;
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        const struct xfw_once_key *key = &calls->key;
        if (key->bytes < XFW_APPLIED_LOCKED || key->memory != XFT_MEM_PINNED ||
            !xfw_applied_locking_cost(&analysis->achievable, key->gpu, key->bytes, XFW_LIKELY)
                 .known)
            continue;
        xfw_set_add(&sites, key->site);
        any = true;
    }
    return any ? xfw_change_lock_by_apply(analysis, &sites) : NULL;
}

static bool is_carried_out(const struct xfa_remedy *remedy)
{
    return remedy->kind == XFA_REMEDY_PEER_ACCESS;
}

size_t xfa_findings_applied(const struct xfa_findings *findings,
                            const struct xfa_analysis *analysis, struct xfw_change **changes,
                            size_t most, struct xfw_change *own[XFA_APPLIED_OWN])
{
    size_t count = 0;
    own[0] = staging(findings, analysis);
    own[1] = locking(findings, analysis);
    for (size_t i = 0; i < XFA_APPLIED_OWN && count < most; i++)
        if (own[i])
            changes[count++] = own[i];
    for (size_t i = 0; i < findings->count && count < most; i++)
        if (findings->items[i].change && is_carried_out(&findings->items[i].remedy))
            changes[count++] = findings->items[i].change;
    return count;
}
