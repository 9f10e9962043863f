/*
 * The recorder's own work in a thread between two calls, which is in the time before the second
 * one: rare work (OVERHEAD), and hashes of what transfers moved (CONTENT). A hash is made behind
 * the call that copied, before that returns to the program; of an asynchronous copy to the host
 * behind the call that waited for it. Private to ops*.c.
 */
#ifndef XFW_OPS_OVERHEAD_H
#define XFW_OPS_OVERHEAD_H

#include "analyzer/pass/event.h"
#include "analyzer/whatif/ops/op_numbers.h"

/* OVERHEAD: adds what is beyond the usual cost of each call of this kind, and not in another such
 * event. CONTENT: adds what it took behind the call. */
void xfw_overhead_event(const struct xfa_process *process, struct xfw_thread *thread,
                        const struct xfa_event *event);
/* The thread's next call: ns of the recorder's work since the one before. */
uint64_t xfw_overhead_before(struct xfw_thread *thread, const struct xfa_event *event);

#endif
