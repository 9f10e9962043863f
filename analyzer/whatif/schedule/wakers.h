/*
 * Who woke or started a thread. What threads wait for among themselves is no call of CUDA, nor is
 * what a function of the host does that a stream calls (cuLaunchHostFunc): it is inferred from when
 * calls happened alone, as recorded, op by op, in the order of calls. Private to whatif/.
 *
 * A thread that makes no call for long was woken, if this happens more often than by chance,
 *
 * - by another thread, right behind whose last call it goes on: it had given its work to that one.
 *   The thread that runs PyTorch's backward pass and its caller do so in every step. One that makes
 *   new threads again and again, and goes on behind the last call of the last one, waits for all of
 *   them to end (`joins`).
 * - by a stream, right behind whose call of a host function it goes on.
 * - by the last event in the process, if it is the worker of a pool (XLA's, under JAX): one of
 *   threads that make the same calls in turns, where chance decides which one is next. This is
 *   believed only where host functions wake such threads: threads that merely do the same beside
 *   each other may look alike.
 *
 * Threads that merely work beside each other go on behind each other's calls, too. How likely that
 * is, is known twice: before, from how many calls others made while the thread was idle; and
 * afterwards, from when the other thread called next: one that goes on by itself does so anywhere
 * between two calls of the other, one that was woken soon behind the first of them. A call that
 * was the other thread's last one counts as the only one.
 *
 * A thread's first call counts from where the other threads were when it began: from the end of the
 * call that had ended last, or from the start of one that was still running. It began before its
 * first call by the processor's time that it had used then (worked_ns), at least. Of threads that
 * start at once none waits for another. Time of the recorder before its first call is not the
 * thread's: it had come to the call before that.
 */
#ifndef XFW_WAKERS_H
#define XFW_WAKERS_H

#include "analyzer/whatif/op/op.h"

struct xfw_wakers;
struct xfw_wakers *xfw_wakers_new(void);
void xfw_wakers_free(struct xfw_wakers *wakers);

/* For each op in the order of calls, first this: sets woken_by, woken_by_stream, joins
 * and woken_after_ns; to none for the first op of a thread. */
void xfw_wakers_find(struct xfw_wakers *wakers, struct xfw_op *op);

/* The first op of a thread: sets `first`, or which other thread's call it counts from, and hook_ns:
 * what recording added to that. */
void xfw_wakers_start_thread(struct xfw_wakers *wakers, struct xfw_op *op);

/* Then this: the recorder was at work for held_ns before the op and for added_ns behind it. */
void xfw_wakers_note_call(struct xfw_wakers *wakers, const struct xfw_op *op, double held_ns,
                          double added_ns);

/* Last this, when all of the op is known. `done`: when its stream is done with it, for
 * XFW_HOST_FUNCTION. */
void xfw_wakers_note_done(struct xfw_wakers *wakers, const struct xfw_op *op, double done);

#endif
