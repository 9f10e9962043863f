/*
 * managed-demand-migration: managed memory that kernels and the host run into page by page, and
 * wait for, which could be sent to where it is needed next before.
 */
#include "analyzer/findings/moved_on_demand.h"
#include "analyzer/whatif/changes/prefetch.h"

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_DEMAND,
        .remedy = {.kind = XFA_REMEDY_PREFETCH, .node = -1},
        .reckoning = XFA_RECKONED_MOVED,
        .assumed = "all that moved is known to be needed before",
    };
    (void)sums;
    xfa_moved_find(analysis, findings, &like, NULL);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums, (void)finding;
    return analysis->profile ? xfw_change_prefetch(analysis) : NULL;
}

const struct xfa_finding_kind xfa_kind_demand = {.find = find, .change = change};
