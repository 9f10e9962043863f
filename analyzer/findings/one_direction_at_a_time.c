/*
 * one-direction-at-a-time: copies to the device and copies to the host that wait for each other
 * without need, while the link carries both directions at once. The run is replayed with the copies
 * to the host on streams of their own (whatif/change_dataflow.h).
 *
 * It is asked where copies of page-locked memory in both directions take a part of the run.
 */
#include <math.h>

#include "analyzer/findings/overlappable.h"
#include "analyzer/whatif/change_dataflow.h"

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    double least = XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run);
    double shorter = fmin(xfa_overlappable_ns(analysis, XFT_DIR_H2D),
                          xfa_overlappable_ns(analysis, XFT_DIR_D2H));
    (void)sums;
    if (!(shorter > least))
        return;
    struct xfa_finding *finding =
        xfa_overlappable_add(findings, analysis, XFA_FINDING_ONE_WAY, XFA_REMEDY_BOTH_WAYS, 2);
    finding->assumed = "kernels use no memory but what they are given; buffers that are used in "
                       "both directions may be several";
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfw_change_dataflow(analysis, (unsigned)finding->remedy.streams, false);
}

const struct xfa_finding_kind xfa_kind_one_way = {.try = try, .change = change};
