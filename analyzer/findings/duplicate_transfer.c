/*
 * duplicate-transfer: to the device, bytes that had been sent to it before, to another place or to
 * one that was written since.
 */
#include "analyzer/findings/moved_before.h"

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    gain->reckoning = xfa_moved_reckoning(analysis, row, XFA_SAME_DUPLICATE, XFA_RECKONED_DUPLICATE,
                                          XFA_RECKONED_DUPLICATE_UNSEEN);
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_COPY_THERE);
    return xfa_moved_before(analysis, row, XFA_SAME_DUPLICATE, gain);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfa_moved_change(analysis, finding, XFA_SAME_DUPLICATE);
}

const struct xfa_finding_kind xfa_kind_duplicate = {.look = look, .change = change};
