/*
 * slow-page-locking: page-locked memory that the driver allocates (cudaMallocHost(),
 * cudaHostAlloc()) in more time than the program takes to map as much, touch it by several threads
 * and page-lock it (cudaHostRegister()). Lost: what the calls that allocate and free it took beyond
 * that, by the profile's lock/... and unlock/... figures; without these nothing is found.
 *
 * Memory that is allocated again and again is repeated-allocation's, too: of the two one is
 * advised.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/taken.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/locked.h"

#include <math.h>

static struct xfa_observer observe(void *self)
{
    return xfa_taken_observer(self, XFT_EVENT_ALLOC, XFT_EVENT_FREE, true);
}

static struct xfw_locking cost_of(const struct xfa_analysis *analysis,
                                  const struct xfw_once_calls *calls)
{
    return xfw_locking_cost(&analysis->achievable, -1, calls->key.gpu, calls->key.bytes,
                            XFW_LIKELY);
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_taken *taken = sums;
    struct xfa_table sites;
    uint64_t largest = 0;
    struct xfa_finding like = {
        .id = XFA_FINDING_PAGE_LOCKING,
        .remedy = {.kind = XFA_REMEDY_LOCK_BY_HAND, .to_host = true, .node = -1},
        .reckoning = XFA_RECKONED_LOCKED,
        .assumed = "processors are idle while the program allocates",
    };
    xfa_taken_sites_init(&sites);
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->calls, i);
        struct xfw_locking cost = cost_of(analysis, calls);
        if (!cost.known || !xfw_is_lockable_by_hand(calls->key.memory))
            continue;
        double lost = fmax(0, calls->takes_ns - (double)calls->takes * cost.take_ns) +
                      fmax(0, calls->gives_ns - (double)calls->gives * cost.give_ns);
        xfa_taken_add_to_site(&sites, analysis, calls, lost);
        if (calls->key.bytes > largest)
            like.remedy.threads = (int)cost.threads;
        largest = calls->key.bytes > largest ? calls->key.bytes : largest;
    }
    xfa_taken_add_sites(&sites, findings, &like, xfa_findings_least_ns(analysis));
    xfa_table_free(&sites);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    return xfw_change_lock_by_hand(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_page_locking = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe,
    .free = xfa_taken_free,
    .give = xfa_taken_give,
    .take = xfa_taken_take,
    .taken = xfa_taken_all,
};
