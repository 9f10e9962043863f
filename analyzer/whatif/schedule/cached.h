/*
 * The host's own time behind copies of pageable memory, which the processor makes itself: it reads
 * what the host has just written, and writes it again elsewhere, so that less of the host's own
 * memory is left in the caches. Where a change makes such a call shorter, the thread's own time
 * gets shorter as well; how much, no record shows. On an H100, page-locking copies of 64 KiB whose
 * calls took 5 us less saved 9 % of a program's run by the calls, and 15 % as measured
 * (docs/results/random-h100-2026-11-27.md). So at best the thread's own time that comes next is
 * shorter by as much as the call is, by what bringing the copy's bytes back takes at most, and in
 * half of it at most (guesses); as likely, and at worst, it stays. Copies that go (leave_out.c)
 * take the same way. Private to whatif/.
 */
#ifndef XFW_CACHED_H
#define XFW_CACHED_H

#include "analyzer/pass/class.h"
#include "analyzer/whatif/op/op.h"

#define XFW_MOST_CACHED 0.5        /* of the own time before a call */
#define XFW_CACHE_BYTES 2097152.0  /* of a core: a copy puts out no more */
#define XFW_CACHED_NS_PER_BYTE 0.1 /* 10 GB/s, of one core from memory */

struct xfw_cached {
    double *ns; /* by thread: how much is to come */
    size_t count, capacity;
};
void xfw_cached_free(struct xfw_cached *cached); /* starts zeroed */

/* What is to come off the thread's own times; valid until the next call. */
double *xfw_cached_of(struct xfw_cached *cached, uint32_t thread);
/* The time before the op gets shorter by what is to come, in half of it at most. */
void xfw_cached_take(struct xfw_cached *cached, struct xfw_op *op);

/* The next op of the process, as it was and as the changes have left it, where it is played at
 * best: the time before it gets shorter. */
void xfw_cached_op(struct xfw_cached *cached, const struct xfa_classes *classes,
                   const struct xfw_op *was, struct xfw_op *op);

#endif
