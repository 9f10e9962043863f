/*
 * The rows of a trace in the order of their times (read/merge.h), unpacked in a thread of their own
 * some thousand rows ahead of the walk. Private to pass/.
 *
 * Where there are few processors, or no thread can be made, they are unpacked as they are asked
 * for; so are the first ones, since short traces are over before a thread is there.
 */
#ifndef XFA_AHEAD_H
#define XFA_AHEAD_H

#include "analyzer/read/merge.h"

#define XFA_AHEAD_PROCESSORS 4 /* fewer are better used otherwise (aside.h) */

struct xfa_ahead;

/* Takes the merge over. What could not be read is in the trace's losses when all have come. */
struct xfa_ahead *xfa_ahead_new(struct xfa_merge *merge, bool threaded);

/* The next rows: how many, 0 at the end. They are valid until the next call. */
size_t xfa_ahead_next(struct xfa_ahead *ahead, const struct xfa_merged **rows);

/* How much of the trace had been opened when they were unpacked, from 0 to 1. */
double xfa_ahead_part(const struct xfa_ahead *ahead);

/* Also before all have come. */
void xfa_ahead_free(struct xfa_ahead *ahead);

#endif
