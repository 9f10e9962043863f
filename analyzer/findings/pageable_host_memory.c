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
    double achieved = figures->device.ns + figures->host.ns;
    gain->transfers = figures->transfers;
    gain->bytes = figures->bytes;
    gain->achieved_basis = xfa_achieved_basis(figures);
    gain->achievable_basis = xfa_achievable_basis(figures);
    gain->achieved_ns = achieved > 0 ? achieved : NAN;
    gain->achievable_ns = figures->achievable.transfers ? figures->achievable.ns : NAN;
    gain->lost_ns = xfa_lost_ns(figures);
    gain->weight_ns = achieved > 0 ? achieved : (double)figures->bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->error = xfa_achievable_error(figures);
    gain->reckoning = isnan(gain->lost_ns) ? XFA_RECKONED_PINNED_UNKNOWN : XFA_RECKONED_PINNED;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_PIN);
    return true;
}

const struct xfa_finding_kind xfa_kind_pageable = {.look = look};
