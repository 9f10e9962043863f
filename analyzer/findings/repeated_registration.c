/*
 * repeated-registration: the same host memory, by its address and size, that is page-locked and
 * unlocked again and again. Buffers that are registered once each are none: there is nothing to
 * keep.
 */
#include "analyzer/findings/taken_again.h"

static struct xfa_observer observe(void *self)
{
    return xfa_taken_observer(self, XFT_EVENT_REGISTER, XFT_EVENT_UNREGISTER);
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    xfa_taken_find(analysis, sums, findings, XFA_FINDING_REGISTRATION, XFA_REMEDY_REGISTER_ONCE,
                   "it is the same buffer each time: its address and size are, but it may "
                   "have been freed and allocated again in between");
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_taken_change(analysis, sums, finding);
}

const struct xfa_finding_kind xfa_kind_registration = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct xfa_taken),
    .observe = observe,
    .free = xfa_taken_free,
};
