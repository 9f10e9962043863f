/*
 * repeated-allocation: memory of the GPU, managed or page-locked memory that is allocated and freed
 * again and again, in the same size by the same site. Allocating changes page tables (page-locked
 * memory has to be found, cleared and locked as well), and freeing waits until the device is idle.
 */
#include "analyzer/findings/taken_again.h"

static struct xfa_observer observe(void *self)
{
    return xfa_taken_observer(self, XFT_EVENT_ALLOC, XFT_EVENT_FREE);
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    xfa_taken_find(analysis, sums, findings, XFA_FINDING_ALLOCATION, XFA_REMEDY_ALLOCATE_ONCE,
                   "there is room for all of these buffers at the same time, and what "
                   "was freed and allocated again need not come cleared");
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_taken_change(analysis, sums, finding);
}

const struct xfa_finding_kind xfa_kind_allocation = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe,
    .free = xfa_taken_free,
};
