/*
 * What each op took by itself, found from when things happened (ops.h says how): between ops.c,
 * which knows when, and what is handed on. Private to whatif/.
 */
#ifndef XFW_RECORDED_H
#define XFW_RECORDED_H

#include "analyzer/whatif/op.h"

struct xfw_recorded;
struct xfw_recorded *xfw_recorded_new(void);
void xfw_recorded_free(struct xfw_recorded *recorded);

/*
 * Ops in the order of their calls, each with what is known of it: times as recorded, what it is,
 * thread, stream, event, engine; hook_ns: what recording added to this very call, behind it;
 * records_ns. `blocks`: a copy's call that returns when the data is there, or staged. Fills in the
 * rest.
 */
void xfw_recorded_settle(struct xfw_recorded *recorded, struct xfw_op *op, bool blocks);

#endif
