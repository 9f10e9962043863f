/*
 * Managed memory that moved, as ops have it: what of it a prefetch moved, a kernel demanded, or was
 * fetched in a thread's own time. Private to ops*.c.
 */
#ifndef XFW_OPS_MOVED_H
#define XFW_OPS_MOVED_H

#include "analyzer/whatif/numbers.h"
#include "analyzer/whatif/ops_queue.h"

/* A MIGRATION or a FAULT. */
void xfw_ops_moved(struct xfw_ops_queue *queue, struct xfw_numbers *numbers,
                   const struct xfa_event *event);

#endif
