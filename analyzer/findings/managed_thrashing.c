/*
 * managed-thrashing: managed memory that goes to kernels and back to the host again and again, each
 * time touched by both, though the kernels have no time to touch much of it.
 */
#include "analyzer/findings/moved_on_demand.h"
#include "analyzer/whatif/changes/stay.h"

#define TIMES 3 /* that all of it went there, and came back */

static bool goes_to_and_fro(const struct xfa_managed_figures *figures)
{
    return figures->allocated > 0 && figures->bytes[XFT_DIR_H2D] / TIMES >= figures->allocated &&
           figures->bytes[XFT_DIR_D2H] / TIMES >= figures->allocated;
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_THRASHING,
        .remedy = {.kind = XFA_REMEDY_STAY, .node = -1},
        .reckoning = XFA_RECKONED_MOVED,
        .assumed = "kernels touch no more of this memory than they have time for besides waiting "
                   "for it",
    };
    (void)sums;
    xfa_moved_find(analysis, findings, &like, goes_to_and_fro);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums, (void)finding;
    return analysis->profile ? xfw_change_stay(analysis) : NULL;
}

const struct xfa_finding_kind xfa_kind_thrashing = {.find = find, .change = change};
