/*
 * pageable-host-memory: the driver stages copies from and to pageable memory through buffers of
 * its own. Lost: achieved time minus that of a page-locked copy of the same size, per transfer.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"

/* Without a profile there is no loss to reckon with; this rate stands in, for the threshold only,
 * where not even the achieved time is known: one GB/s is slower than any link in use. */
#define STAND_IN_NS_PER_BYTE 1.0

static char *remedy(const struct xfa_row *row)
{
    bool to_device = row->key.direction == XFT_DIR_H2D;
    if (row->site->pytorch)
        return xfa_text(to_device
                            ? "keep the host tensor in pinned memory (DataLoader(..., "
                              "pin_memory=True) or tensor.pin_memory()) and copy it with "
                              ".to(device, non_blocking=True)"
                            : "copy into a pinned host tensor (torch.empty(..., pin_memory=True)"
                              ".copy_(result, non_blocking=True)) and synchronise before reading");
    return xfa_text(
        to_device ? "allocate the source buffer once with cudaMallocHost() (or page-lock it once "
                    "with cudaHostRegister()), reuse it, and copy with cudaMemcpyAsync()"
                  : "allocate the destination buffer once with cudaMallocHost() (or page-lock it "
                    "once with cudaHostRegister()), reuse it, and copy with cudaMemcpyAsync()");
}

static bool look(const struct xfa_row *row, struct xfa_gain *gain)
{
    const struct xfa_figures *figures = &row->figures;
    bool from = row->key.direction == XFT_DIR_H2D && row->key.src_mem == XFT_MEM_PAGEABLE;
    bool to = row->key.direction == XFT_DIR_D2H && row->key.dst_mem == XFT_MEM_PAGEABLE;
    if (!from && !to)
        return false;
    double achieved = figures->device.ns + figures->host.ns;
    gain->transfers = figures->transfers;
    gain->bytes = figures->bytes;
    gain->achieved_basis = xfa_achieved_basis(figures);
    gain->achievable_basis = xfa_achievable_basis(figures);
    gain->took_ns = achieved > 0 ? achieved : NAN;
    gain->best_ns = figures->best.transfers ? figures->best.ns : NAN;
    gain->lost_ns = xfa_lost_ns(figures);
    gain->weight_ns = achieved > 0 ? achieved : (double)figures->bytes * STAND_IN_NS_PER_BYTE;
    gain->error = xfa_best_error(figures);
    gain->note = isnan(gain->lost_ns)
                     ? "what pinned memory would give here is not known"
                     : "achieved time minus the time of a pinned copy of the same size";
    gain->fix = remedy(row);
    return true;
}

const struct xfa_finding_kind xfa_finding_pageable = {
    .name = "pageable-host-memory",
    .title = "copies from or to pageable host memory",
    .look = look,
};
