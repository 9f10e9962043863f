/*
 * What can be said of one op once its records of the device have come. Private to ops*.c. Times are
 * ns.
 */
#ifndef XFW_OPS_PENDING_H
#define XFW_OPS_PENDING_H

#include "analyzer/whatif/ops/ops_queue.h"

/* Of a graph whose first parts ran while its call was still submitting the others. */
void xfw_pending_find_submitted(struct xfw_pending *pending);

/* Managed memory that moved to it, and back: complete (moves_seen.h), and what recording it cost.
 */
void xfw_pending_end_moves(struct xfw_pending *pending, struct xfw_records_costs *costs);

/* A copy or memset that its record says to have taken so long that the end may be wrong: CUPTI has
 * such, some ms beyond the work behind it in its stream
 * (docs/results/replayed-h200-2026-11-29.md). */
bool xfw_pending_is_doubtful(const struct xfw_op *op);

/* `later` was submitted later: where it began in the same stream before such work's recorded end,
 * that was over by then. */
void xfw_pending_end_before(struct xfw_op *op, const struct xfw_op *later);

#endif
