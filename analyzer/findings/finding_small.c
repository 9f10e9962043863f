/*
 * small-transfers: below the half-bandwidth size Lo / G a transfer's time is mostly the fixed cost
 * Lo (van Werkhoven et al., section V). Looked at are runs of such transfers that one thread made
 * one behind the other from one site; lost is what they took minus Lo + k G of one transfer of all
 * k bytes.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"

static char *remedy(const struct xfa_row *row)
{
    bool to_host = row->key.direction == XFT_DIR_D2H;
    if (row->site->pytorch)
        return xfa_text(to_host
                            ? "collect results on the GPU (torch.stack) and copy them to the "
                              "host once, instead of .item() or .cpu() for each"
                            : "stack the tensors on the host (torch.stack, torch.cat) in pinned "
                              "memory, copy once, split on the GPU");
    return xfa_text(to_host ? "place the results one behind the other in device memory and copy "
                              "them with one call"
                            : "pack the pieces into one pinned buffer and copy it with one call "
                              "(cudaMemcpyBatchAsync() from CUDA 12.8 on where they cannot be "
                              "packed)");
}

static bool look(const struct xfa_row *row, struct xfa_gain *gain)
{
    const struct xfa_figures *figures = &row->figures;
    if (figures->small.transfers == 0)
        return false;
    gain->transfers = figures->small.transfers;
    gain->bytes = figures->small.bytes;
    gain->took_ns = figures->small.ns;
    gain->best_ns = figures->small_batched_ns;
    gain->lost_ns = fmax(0, figures->small.ns - figures->small_batched_ns);
    gain->error = figures->small_error;
    gain->achieved_basis = figures->small_modelled == 0 ? xfa_achieved_basis(figures)
                           : figures->small_modelled == figures->small.transfers ? "modelled"
                                                                                 : "mixed";
    gain->achievable_basis = "modelled";
    gain->note = "what runs of transfers took minus Lo + k G of one transfer per run";
    gain->fix = remedy(row);
    return true;
}

const struct xfa_finding_kind xfa_finding_small = {
    .name = "small-transfers",
    .title = "runs of transfers too small to use the link",
    .look = look,
};
