/*
 * pageable-host-memory: the driver stages copies from and to pageable memory through buffers of
 * its own. Lost: achieved time minus that of a page-locked copy of the same size, per transfer.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_figures *figures = &analysis->rows[row];
    bool from = what->key.direction == XFT_DIR_H2D && what->key.src_mem == XFT_MEM_PAGEABLE;
    bool to = what->key.direction == XFT_DIR_D2H && what->key.dst_mem == XFT_MEM_PAGEABLE;
    if (!from && !to)
        return false;
    xfa_gain_of(gain, figures);
    gain->weight_ns = isnan(gain->achieved_ns) ? (double)figures->bytes * XFA_STAND_IN_NS_PER_BYTE
                                               : gain->achieved_ns;
    gain->reckoning = isnan(gain->lost_ns) ? XFA_RECKONED_PINNED_UNKNOWN : XFA_RECKONED_PINNED;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_PIN);
    return true;
}

const struct xfa_finding_kind xfa_kind_pageable = {.look = look};
