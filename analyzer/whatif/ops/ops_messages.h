/*
 * Calls of MPI as ops, where ranks are played together (together.h). A call that blocks becomes an
 * op that begins, in no time, and one that ends, which has the call's time; one that sends and
 * receives two of each. Of a request the call that begins it is one op, and the call that found it
 * complete another: MESSAGE_END has its times. Calls of CUDA that MPI makes meanwhile come between:
 * ops that end are held until then. A scan that blocks has two ops more where it begins, one that
 * receives from the rank before and one that sends to the next (message_links.h).
 *
 * What moves bytes of other ranks without a call there (put, get) and what failed is no op: it
 * stays in the thread's own time, and so do NCCL's calls. The kernels of these are known by their
 * correlation. Private to ops*.c.
 */
#ifndef XFW_OPS_MESSAGES_H
#define XFW_OPS_MESSAGES_H

#include "analyzer/whatif/ops/ops_queue.h"

#define XFW_MOST_HELD 64

struct xfw_held { /* zero to begin with */
    struct xfw_op ops[XFW_MOST_HELD];
    unsigned count;
};

/* An event becomes ops: `like` has its thread and its times, began_ns is of what it ends, or
 * begins. Those that begin go to the queue, those that end are held. */
void xfw_message_take(struct xfw_held *held, struct xfw_ops_queue *queue,
                      const struct xfa_event *event, const struct xfw_op *like);

/* NCCL's calls that were met last, by the lower bits of the correlation of their launch, which
 * comes after them: each begins before. Zero to begin with. */
#define XFW_NCCL_CALLS 4096

struct xfw_nccl {
    uint32_t calls[XFW_NCCL_CALLS];
};
static inline void xfw_nccl_note(struct xfw_nccl *nccl, uint32_t correlation)
{
    nccl->calls[correlation % XFW_NCCL_CALLS] = correlation;
}
static inline bool xfw_nccl_has(const struct xfw_nccl *nccl, uint32_t correlation)
{
    return correlation && nccl->calls[correlation % XFW_NCCL_CALLS] == correlation;
}

/* An op that is to come in the order of ends, at end_ns. */
void xfw_hold(struct xfw_held *held, struct xfw_ops_queue *queue, const struct xfw_op *op);

/* Those that had ended by then go to the queue, in that order. */
void xfw_held_let_go(struct xfw_held *held, struct xfw_ops_queue *queue, double until_ns);

#endif
