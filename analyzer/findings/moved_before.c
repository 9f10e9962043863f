#include "analyzer/findings/moved_before.h"

#include <math.h>

#include "analyzer/whatif/changes/leave_out.h"

static enum xfa_basis basis(const struct xfa_same_sum *found)
{
    if (found->timed == 0)
        return XFA_BASIS_UNKNOWN;
    return found->by_device == found->timed ? XFA_BASIS_DEVICE
           : found->by_device == 0          ? XFA_BASIS_HOST
                                            : XFA_BASIS_MIXED;
}

static const struct xfa_same_sum *sum_of(const struct xfa_analysis *analysis, size_t row,
                                         enum xfa_same same)
{
    const struct xfa_same_row *sums = xfa_contents_row(&analysis->contents, (uint32_t)row);
    return sums && sums->same[same].sum.transfers ? &sums->same[same] : NULL;
}

/* A constant rests on nothing but its hash. */
static const char *assumed(const struct xfa_same_sum *found, enum xfa_same same, bool to_host)
{
    if (same == XFA_SAME_CONSTANT)
        return NULL;
    if (found->surely[XFA_PERHAPS])
        return "kernels only read what they were given of this memory, or there is room to keep a "
               "copy on the device";
    if (found->surely[XFA_UNSEEN])
        return "no kernel changes this memory in between: what kernels were given was not recorded";
    return same == XFA_SAME_RETURNED && !to_host
               ? "the host does not look at what it fetches only to send it back"
               : "kernels reach this memory only by pointers that they were given";
}

bool xfa_moved_before(const struct xfa_analysis *analysis, size_t row, enum xfa_same same,
                      struct xfa_gain *gain)
{
    const struct xfa_same_sum *found = sum_of(analysis, row, same);
    if (!found)
        return false;
    bool to_host = xfa_analysis_row(analysis, row)->key.direction == XFT_DIR_D2H;
    gain->transfers = found->sum.transfers;
    gain->bytes = found->sum.bytes;
    gain->achieved_ns = found->timed ? found->sum.ns : NAN;
    gain->lost_ns = gain->achieved_ns;
    gain->weight_ns = (double)found->sum.bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->achieved_basis = basis(found);
    gain->probably = found->sampled > 0;
    gain->assumed = assumed(found, same, to_host);
    if (found->earlier)
        gain->earlier = xfa_analysis_row(analysis, found->earlier - 1)->site;
    return true;
}

enum xfa_reckoning xfa_moved_reckoning(const struct xfa_analysis *analysis, size_t row,
                                       enum xfa_same same, enum xfa_reckoning kept,
                                       enum xfa_reckoning unseen)
{
    const struct xfa_same_sum *found = sum_of(analysis, row, same);
    bool sure = found && found->surely[XFA_SURE] == found->sum.transfers;
    return sure ? kept : unseen;
}

struct xfw_change *xfa_moved_change(const struct xfa_analysis *analysis,
                                    const struct xfa_finding *finding, enum xfa_same same)
{
    const struct xfa_contents *contents = &analysis->contents;
    bool to_device = !finding->remedy.to_host;
    for (size_t i = 0; i < finding->site_count && to_device && same != XFA_SAME_REPEATED; i++)
        if (!xfw_leave_out_knows(analysis, finding->sites[i].row->key.dst_gpu))
            return NULL;
    const struct xfw_leave_out what = {
        .marks = contents->marks[same],
        .classes = xfa_finding_classes(analysis, finding),
        .besides = same == XFA_SAME_RETURNED && to_device ? contents->fetched : NULL,
        .copied = &contents->copied,
        .set = same == XFA_SAME_CONSTANT,
    };
    return xfw_change_leave_out(analysis, &what);
}
