/*
 * Copies from the GPU of one rank to that of another, through rings of pinned buffers on both sides
 * (rCUDA's 2B, 3B, 4B: Reano and Silla, section 4), or by MPI itself, given device buffers.
 *
 * The source copies chunk i into its buffer i, sends it when it is there, and uses the buffer again
 * when it is sent; the destination receives into its buffer i and copies it to its GPU. Both sides
 * turn over what is under way instead of waiting for one thing, so that copies out, messages and
 * copies in overlap, and MPI makes progress. Of pieces that are begun at once both sides wait for
 * one after the other, as programs do.
 */
#ifndef XFP_NET_STAGE_H
#define XFP_NET_STAGE_H

#include <mpi.h>

#include "probe/device/buffer.h"
#include "probe/measure/sizes.h"

struct xfp_net_run;
struct xfp_net_order;

struct xfp_net_stage {
    struct xfp_buffer memory; /* of the GPU: what is copied, or where to */
    struct xfp_buffer ring;   /* pinned */
    xcu_stream stream;
    xcu_event copied[XFP_MOST_BUFFERS];
    MPI_Request requests[XFP_MOST_BUFFERS];
};

/* Allocates for copies of up to `bytes`, and fills the memory with the pattern. 0, or -1 with the
 * session's error. */
int xfp_net_stage_open(struct xfp_net_run *run, struct xfp_net_stage *stage, size_t bytes);
void xfp_net_stage_close(struct xfp_net_run *run, struct xfp_net_stage *stage);

/* Makes one copy to the peer, or from it. ns (of the source): until it knows that all is there. A
 * failure ends the run: the peer waits. */
void xfp_net_copy(struct xfp_net_run *run, struct xfp_net_stage *stage, int peer,
                  const struct xfp_net_order *order, bool sends, double *ns);

/* Sends the memory and receives it, so many times; the other side receives and sends. times: of
 * each; NULL: not needed. */
void xfp_net_first_rounds(struct xfp_net_run *run, struct xfp_net_stage *stage, int peer,
                          const struct xfp_net_order *order, bool leads, double *times);

#endif
