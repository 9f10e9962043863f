/*
 * A trace between two readings: its file is closed, and what was found in it stays, so that it is
 * neither walked nor checked again. Of a process that is replayed from what was gathered of it,
 * only the names are wanted again.
 */
#ifndef XFA_ASLEEP_H
#define XFA_ASLEEP_H

#include "analyzer/read/read.h"

/* Only of a completed one: what is still written to changes unseen. */
bool xfa_trace_may_sleep(const struct xfa_trace *trace);

/* What it keeps while it is asleep, in bytes. */
size_t xfa_trace_bytes(const struct xfa_trace *trace);

/* names: they stay. Else it keeps where they are, and no more. */
void xfa_trace_sleep(struct xfa_trace *trace, bool names);

/* As it was before it went to sleep. False: it is to be opened anew, because its file is another
 * one now or cannot be read, or because what is asked for (events: xfa_trace_events(), merge.h) was
 * not kept. */
bool xfa_trace_wake(struct xfa_trace *trace, bool events);

#endif
