#include "analyzer/findings/moved_before.h"

#include <math.h>

static enum xfa_basis basis(const struct xfa_same_sum *found)
{
    if (found->timed == 0)
        return XFA_BASIS_UNKNOWN;
    return found->by_device == found->timed ? XFA_BASIS_DEVICE
           : found->by_device == 0          ? XFA_BASIS_HOST
                                            : XFA_BASIS_MIXED;
}

bool xfa_moved_before(const struct xfa_analysis *analysis, size_t row, enum xfa_same same,
                      struct xfa_gain *gain)
{
    const struct xfa_same_row *sums = xfa_contents_row(&analysis->contents, (uint32_t)row);
    const struct xfa_same_sum *found = sums ? &sums->same[same] : NULL;
    if (!found || found->sum.transfers == 0)
        return false;
    gain->transfers = found->sum.transfers;
    gain->bytes = found->sum.bytes;
    gain->achieved_ns = found->timed ? found->sum.ns : NAN;
    gain->lost_ns = gain->achieved_ns;
    gain->weight_ns = (double)found->sum.bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->achieved_basis = basis(found);
    gain->probably = found->sampled > 0;
    if (found->earlier)
        gain->earlier = xfa_analysis_row(analysis, found->earlier - 1)->site;
    return true;
}
