/*
 * NCCL over the GPUs of all ranks, where each rank can load it and has a GPU of its own:
 * all-reduce, all-gather, reduce-scatter, and sending to the next rank while receiving from the one
 * before, as nccl-tests measure them. Loaded at run time: libnccl.so.2, or what XFERSCOPE_NCCL
 * names (with a simulated GPU only that).
 */
#ifndef XFP_NET_NCCL_H
#define XFP_NET_NCCL_H

#include "probe/net/net.h"

/* Called by all ranks, after everything else; adds to rank 0's profile. What cannot be measured is
 * a warning there. 0, or -1 when rank 0 found wrong data. */
int xfp_net_measure_nccl(struct xfp_net_run *run);

#endif
