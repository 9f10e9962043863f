/*
 * Calls that other threads' calls held up in the driver, where a change makes those shorter: they
 * are held up no more. On an H200 a launch took 71 us while another thread copied pageable memory
 * and 8 us while none was in the driver (docs/results/random-h200-2026-11-27-third.md). So a change
 * of one thread's copies also makes the others' launches shorter, which no change is about. For the
 * player, which hands over each op as it is and as the changes leave it. Private to whatif/.
 *
 * Eased is a call that had the driver and has it for less than half as long now: a copy that the
 * host waited for, a call for memory, one that submits work; and one that was itself held up by
 * such a call. A call that submits work and was made while an eased one of another thread was under
 * way, as recorded, takes at best what such calls take alone; as likely that, as soon as no other
 * call has the driver, as they are played now: each that submits work has it for what it takes
 * alone, others as long as they take; at worst what it took. Never longer than it took.
 *
 * The same holds for calls that a change takes out of the legacy default stream: the driver orders
 * its work behind that of all blocking streams and waits for their threads. On H100s a memset there
 * took 34 to 49 us while another thread's call was under way and 4 with nobody in the driver, and
 * launches that met it 52 to 59 us, else 12.
 *
 * First launches of kernels, which load them, are left as they are.
 */
#ifndef XFW_EASED_H
#define XFW_EASED_H

#include "analyzer/whatif/schedule/change.h"

struct xfw_eased;
/* alone_ns: what calls of each kind take alone (xfw_call_times_end()); borrowed. */
struct xfw_eased *xfw_eased_new(const double *alone_ns);
void xfw_eased_free(struct xfw_eased *eased); /* NULL is allowed */

/* The next op of the process, as it was (without what recording cost; what was under way is known:
 * xfw_callers_meet()) and as the changes have left it: of the latter the call may become shorter.
 * begins_ns: when its call begins, as it is played. */
void xfw_eased_op(struct xfw_eased *eased, const struct xfw_op *was, struct xfw_op *op,
                  double begins_ns, enum xfw_certainty certainty);

#endif
