/*
 * Who let a thread go on that had made no call for long: what threads wait for among themselves is
 * no call, nor is what a function of theirs does that a stream calls (cuLaunchHostFunc). Between
 * recorded.c, which knows when what was done, and the replay. Private to whatif/.
 *
 * Found from when things happened alone:
 *
 * - A thread goes on right behind another one's last call, again and again: it had handed its work
 *   to that one. The thread that runs PyTorch's backward pass and the one that called it do so in
 *   every step.
 * - A thread goes on right behind a stream's call of a function of the host, again and again: that
 *   one woke it.
 * - Threads that make the same calls in turns are the workers of a pool (XLA's, which JAX runs on).
 *   Which one of them comes next is chance, and it had been idle until it was given something to
 *   do: what it does before its first call counts from what happened last in the process, not from
 *   its own call before. Believed only where functions that streams call wake such threads:
 *   threads that merely do the same beside each other may look alike.
 */
#ifndef XFW_HANDED_H
#define XFW_HANDED_H

#include "analyzer/whatif/op.h"

struct xfw_handed;
struct xfw_handed *xfw_handed_new(void);
void xfw_handed_free(struct xfw_handed *handed);

/* The op at hand, in the order of calls: sets handed_by, called_back and handed_ns, to none for the
 * first one of a thread (beginnings.h). */
void xfw_handed_settle(struct xfw_handed *handed, struct xfw_op *op);
/* The same once all of it is settled. `done`: when its stream is done with it, for
 * XFW_HOST_FUNCTION. */
void xfw_handed_note(struct xfw_handed *handed, const struct xfw_op *op, double done);

#endif
