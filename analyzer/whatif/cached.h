/*
 * The host's own time behind copies of pageable memory, which the processor makes itself: it reads
 * what the host has just written, and writes it again elsewhere, so that less of the host's own
 * memory is left in the caches. Where a change makes such a call shorter, the thread's own time
 * gets shorter as well; how much, no record shows. On an H100, page-locking copies of 64 KiB whose
 * calls took 5 us less saved 9 % of a program's run by the calls, and 15 % as measured
 * (docs/results/random-h100-2026-11-27.md). So at best the thread's own time that comes next is
 * shorter by as much as the call is, in half of it at most (a guess); as likely, and at worst, it
 * stays. Private to whatif/.
 */
#ifndef XFW_CACHED_H
#define XFW_CACHED_H

#include "analyzer/pass/class.h"
#include "analyzer/whatif/op.h"

#define XFW_MOST_CACHED 0.5 /* of the own time before a call */

struct xfw_cached {
    double *ns; /* by thread: how much is to come */
    size_t count, capacity;
};
void xfw_cached_free(struct xfw_cached *cached); /* starts zeroed */

/* The next op of the process, as it was and as the changes have left it, where it is played at
 * best: the time before it gets shorter. */
void xfw_cached_op(struct xfw_cached *cached, const struct xfa_classes *classes,
                   const struct xfw_op *was, struct xfw_op *op);

#endif
