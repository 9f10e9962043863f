/*
 * unneeded-wait: the host waits for a device, or a stream, again and again, and for all that is
 * recorded nothing of it is for the host, nor for the order of streams (result_wait.c, whose sums
 * these are): it asks for errors behind each kernel, say, or measures how long kernels take. What
 * follows in the same stream comes behind the rest without a wait. Whether somebody needs it, no
 * record shows: a question, and nothing is saved unless it is answered. Lost: not known.
 */
#include <math.h>

#include "analyzer/findings/finding.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_PART 0.1 /* of the span: else nobody looks for what a wait is for */

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_UNNEEDED_WAIT,
        .remedy = {.kind = XFA_REMEDY_LEAVE_WAIT_OUT, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed = "kernels work on what they are given",
        .question = "nobody needs what {site} waits for (errors, how long kernels take)",
    };
    xfa_wait_sites_find_idle(analysis, xfa_result_wait_sites(sums), &like, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set none = {0}, sites = xfa_finding_sites(finding);
    (void)sums;
    struct xfw_change *change = xfw_change_order_by_event(analysis, &none, &sites);
    change->least_part = LEAST_PART;
    return change;
}

const struct xfa_finding_kind xfa_kind_unneeded_wait = {
    .try = try, .change = change, .sums_of = &xfa_kind_result_wait};
