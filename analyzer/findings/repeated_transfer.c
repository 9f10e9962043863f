/*
 * repeated-transfer: to the device, the bytes that the last copy had brought to the same place; to
 * the host, the bytes that had been fetched from the same place before.
 */
#include "analyzer/findings/moved_before.h"

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    gain->reckoning = xfa_moved_reckoning(analysis, row, XFA_SAME_REPEATED, XFA_RECKONED_REPEATED,
                                          XFA_RECKONED_REPEATED_UNSEEN);
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_KEEP);
    return xfa_moved_before(analysis, row, XFA_SAME_REPEATED, gain);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfa_moved_change(analysis, finding, XFA_SAME_REPEATED);
}

const struct xfa_finding_kind xfa_kind_repeated = {.look = look, .change = change};
