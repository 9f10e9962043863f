/*
 * wait-for-order: the host waits for a device, or a stream, only so that what it gives another
 * stream next comes behind that. What it waits for, or what of it is not known to be for the host
 * (result_wait.c, whose sums these are), is work that nothing of the host has to do with; and the
 * other stream is given work that uses the same memory, and is not made to wait for it. Of kernels
 * that were given the same pointer one has to be known to write to it. Lost: not known, only
 * replaying the run tells.
 *
 * An event between the two streams does the same, and the host goes on. At best this also holds for
 * the program's other waits behind which nothing of the host is but functions that streams call and
 * copies to the host that such functions read: what they are for is not known. Where no wait is
 * known to be for order, nothing is found.
 */
#include <math.h>

#include "analyzer/findings/finding.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_ORDER_WAIT,
        .remedy = {.kind = XFA_REMEDY_ORDER_BY_EVENT, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed =
            "the host uses nothing of what it waits for but copies from and to its memory, and "
            "kernels work on what they are given",
    };
    xfa_wait_sites_find_orders(analysis, xfa_result_wait_sites(sums), &like, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct xfa_table *waits = xfa_result_wait_sites(sums);
    struct xfw_set sites = {0}, at_best = {0};
    for (size_t i = 0; i < finding->site_count; i++) {
        const uint32_t site = finding->sites[i].site->number;
        const struct xfa_wait_site *of_site = xfa_table_get(waits, &site);
        bool order = of_site && xfa_wait_site_is_order(of_site);
        xfw_set_add(order ? &sites : &at_best, site);
    }
    return xfw_change_order_by_event(analysis, &sites, &at_best);
}

const struct xfa_finding_kind xfa_kind_order_wait = {
    .find = find, .change = change, .sums_of = &xfa_kind_result_wait};
