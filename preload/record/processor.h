/*
 * PROCESSOR events: how much processor time threads had between two moments. Which moments these
 * are, and of which threads, sleeps.h and others.h say.
 */
#ifndef XFS_PROCESSOR_H
#define XFS_PROCESSOR_H

#include <stdbool.h>

#include "xferscope/trace.h"

/* In a thread that may write an event, at the edge of a call (begins: it begins there, at
 * `end_ns`). `figures` has both times, and what is between: src, aux, width, count. Time that began
 * before the period has no event. */
void xfs_processor_write(const struct xft_event *figures, bool begins);

#endif
