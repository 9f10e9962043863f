/*
 * one-direction-at-a-time: copies to the device and copies to the host that wait for each other
 * without need, while the link carries both directions at once. The run is replayed with the copies
 * to the host on streams of their own (whatif/changes/dataflow.h), and once in their stream, for
 * what is saved by streams.
 *
 * It is asked where copies of page-locked memory in both directions take a part of the run.
 */
#include <math.h>

#include "analyzer/findings/overlappable.h"
#include "analyzer/whatif/changes/dataflow.h"

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    double least = XFA_LEAST_SAVED * xfa_run_wall_ns(analysis->run);
    double shorter = fmin(xfa_overlappable_ns(analysis, NULL, XFT_DIR_H2D),
                          xfa_overlappable_ns(analysis, NULL, XFT_DIR_D2H));
    (void)sums;
    if (!(shorter > least))
        return;
    for (unsigned streams = 1; streams <= 2; streams++) {
        struct xfa_finding *finding = xfa_overlappable_add(
            findings, analysis, NULL, XFA_FINDING_ONE_WAY, XFA_REMEDY_BOTH_WAYS, streams);
        finding->assumed = "kernels use no memory but what they are given; buffers that are used "
                           "in both directions may be several";
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfw_change_dataflow(
        analysis, &(struct xfw_dataflow_terms){.buffers = (unsigned)finding->remedy.streams});
}

const struct xfa_finding_kind xfa_kind_one_way = {.try = try, .change = change};
