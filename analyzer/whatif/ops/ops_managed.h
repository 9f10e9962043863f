/*
 * Managed memory that moved, as a part of ops: on demand to a GPU, of the kernel that ran there; to
 * the host, of the thread's own time; as a prefetch, of that call. Private to whatif/.
 */
#ifndef XFW_OPS_MANAGED_H
#define XFW_OPS_MANAGED_H

#include "analyzer/sums/blocks.h"
#include "analyzer/whatif/ops/op_numbers.h"
#include "analyzer/whatif/ops/ops_queue.h"

/* Of the process at hand. Starts zeroed. */
struct xfw_moves {
    struct xfw_ops_queue *queue; /* borrowed, as are the next two */
    struct xfw_numbers *numbers;
    const struct xfa_process *process;
    struct xfa_blocks allocations;   /* of managed memory */
    uint32_t users[XFW_ALLOCATIONS]; /* of each the thread whose kernel was given it last, + 1 */
};
/* What was known of the process before is forgotten. */
void xfw_moves_begin(struct xfw_moves *moves, struct xfw_ops_queue *queue,
                     struct xfw_numbers *numbers, const struct xfa_process *process);
void xfw_moves_end(struct xfw_moves *moves);

/* A call that may allocate or free managed memory. */
void xfw_moves_call(struct xfw_moves *moves, const struct xfa_event *event);
/* A kernel is launched. */
void xfw_moves_launch(struct xfw_moves *moves, const struct xfw_op *op);
/* A MIGRATION or FAULT. Returns the thread in whose own time memory moved to the host; NULL: in
 * none. */
struct xfw_thread *xfw_moves_event(struct xfw_moves *moves, const struct xfa_event *event);

#endif
