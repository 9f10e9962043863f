/*
 * NCCL's meetings (nccl_calls.h) once all processes were read: they bound the hosts' clocks, tell
 * who came last, and divide the kernels' time into the part before the last of them had begun and
 * the part since.
 *
 * A collective in which each rank needs what all others give goes on once the last kernel has
 * begun, a message once both have. A send's kernel that ended before the receive's had begun waited
 * for nothing. What was moved counts with the time since then, where each kernel is of calls of one
 * row; of a message until the receive's kernel has ended. NCCL's buffers may hold a whole message
 * (64 MiB of two H200): by how much the send came first is what that time may be off (doubts.h).
 * Private to sums/.
 */
#ifndef XFA_NCCL_MATCH_H
#define XFA_NCCL_MATCH_H

#include "analyzer/pass/achievable_message.h"
#include "analyzer/sums/doubts.h"
#include "analyzer/sums/matched.h"
#include "analyzer/sums/messages.h"

/* How far a device's times may be off when they are converted to the host's clock (a guess). */
#define XFA_DEVICE_CLOCK_NS UINT64_C(5000)

/* Before the clocks are solved, in this order. */
void xfa_nccl_span(struct xfa_matched *matched, const struct xfa_messages *messages);
void xfa_nccl_bound(struct xfa_matched *matched, const struct xfa_messages *messages);

/* When the first kernel of all began, by its host's wall clock; UINT64_MAX: there is none. */
uint64_t xfa_nccl_first_ns(const struct xfa_messages *messages);

/* After that. Adds to the rows and to the processes' sums. */
void xfa_nccl_tell(struct xfa_matched *matched, struct xfa_messages *messages,
                   const struct xfa_achievable *achievable, struct xfa_doubts *doubts);

#endif
