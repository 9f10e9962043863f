/* round-trip: bytes that the copy before had moved the other way. */
#include "analyzer/findings/moved_before.h"

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    gain->reckoning = xfa_moved_reckoning(analysis, row, XFA_SAME_RETURNED, XFA_RECKONED_RETURNED,
                                          XFA_RECKONED_RETURNED_UNSEEN);
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_KEEP_HOME);
    return xfa_moved_before(analysis, row, XFA_SAME_RETURNED, gain);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfa_moved_change(analysis, finding, XFA_SAME_RETURNED);
}

const struct xfa_finding_kind xfa_kind_returned = {.look = look, .change = change};
