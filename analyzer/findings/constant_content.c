/*
 * constant-content: to the device, bytes that all have one value (or words of two or four bytes
 * that programs often fill memory with), and are not there already.
 */
#include "analyzer/findings/moved_before.h"

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    (void)sums;
    gain->reckoning = XFA_RECKONED_CONSTANT;
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_FILL_THERE);
    return xfa_moved_before(analysis, row, XFA_SAME_CONSTANT, gain);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return xfa_moved_change(analysis, finding, XFA_SAME_CONSTANT);
}

const struct xfa_finding_kind xfa_kind_constant = {.look = look, .change = change};
