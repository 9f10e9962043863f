/*
 * synchronous-transfer: the host stands still in a copy that blocks. Lost is host time: what the
 * calls took beyond an asynchronous submission. It is what the host could do meanwhile, not what
 * the run would gain.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"

static char *remedy(const struct xfa_row *row)
{
    bool pageable = row->key.src_mem == XFT_MEM_PAGEABLE || row->key.dst_mem == XFT_MEM_PAGEABLE;
    if (row->site->pytorch)
        return xfa_text(pageable ? "use pinned tensors (pin_memory=True) and non_blocking=True; "
                                   "synchronise only where the data is read"
                                 : "pass non_blocking=True; synchronise only where the data is "
                                   "read");
    if (row->key.async)
        return xfa_text("an Async copy blocks on pageable memory: page-lock the host buffer "
                        "(cudaMallocHost(), cudaHostRegister())");
    return xfa_text(pageable ? "page-lock the host buffer, call cudaMemcpyAsync() on a stream, and "
                               "wait (cudaStreamSynchronize(), events) only where the data is used"
                             : "call cudaMemcpyAsync() on a stream, and wait "
                               "(cudaStreamSynchronize(), events) only where the data is used");
}

static bool look(const struct xfa_row *row, struct xfa_gain *gain)
{
    const struct xfa_figures *figures = &row->figures;
    bool device = row->key.direction == XFT_DIR_H2D || row->key.direction == XFT_DIR_D2H;
    if (!device || figures->blocked.transfers == 0)
        return false;
    bool priced = figures->beyond.transfers > 0;
    gain->transfers = figures->blocked.transfers;
    gain->bytes = figures->blocked.bytes;
    gain->took_ns = figures->blocked.ns;
    gain->best_ns = NAN;
    gain->lost_ns = priced ? figures->beyond.ns : NAN;
    gain->weight_ns = figures->blocked.ns;
    gain->achieved_basis = "host";
    gain->achievable_basis = priced ? "measured" : NULL;
    gain->note = priced ? "host time in blocking calls beyond that of submitting them "
                          "asynchronously; includes waiting for earlier work"
                        : "what an asynchronous submission costs here is not known";
    gain->fix = remedy(row);
    return true;
}

const struct xfa_finding_kind xfa_finding_sync = {
    .name = "synchronous-transfer",
    .title = "copies that make the host wait",
    .look = look,
};
