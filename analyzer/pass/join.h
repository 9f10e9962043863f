/*
 * Device times of calls, in a window over events that come in the order of their times.
 *
 * A DEVICE_COPY belongs to a call by the process's correlation id. Ids may be used again, and a
 * graph's launch has one id for many copies. A call's copy is the first with its id and its number
 * of bytes that did not end before the call was made; without one, the first several up to that
 * number of bytes (a batch, a staged copy), timed from the first one's start to the last one's end.
 * Each copy serves one call. A copy between devices without peer access has two, each of all its
 * bytes: to the host and from it.
 *
 * Calls wait in a queue, with the events behind them, until their copies have come or until
 * XFA_WINDOW events wait: then the first goes on with the copies it has. So everything leaves in
 * the order of time. Copies that come before their call (device clocks are converted: a copy may
 * seem to start earlier) wait too, for CLOCK_SLACK_NS.
 */
#ifndef XFA_JOIN_H
#define XFA_JOIN_H

#include "analyzer/pass/event.h"

#define XFA_WINDOW (1u << 18)       /* events that wait */
#define XFA_EARLY_COPIES (1u << 16) /* copies that wait for their call */

struct xfa_join;
struct xfa_join *xfa_join_new(void);
struct xfa_join *xfa_join_within(size_t window); /* a power of two; for tests */
void xfa_join_free(struct xfa_join *join);

/* Where the next event is to be read to; until any other call here. */
struct xfa_event *xfa_join_room(struct xfa_join *join);

/* Queues what stands there: a call (xfa_event_moves(), with correlation id), or any other event
 * behind one. */
void xfa_join_push(struct xfa_join *join);

/* Does anything wait? Without, an event that is no call need not be queued. */
bool xfa_join_waits(const struct xfa_join *join);

/* A copy (DEVICE_COPY) has come. */
void xfa_join_copy(struct xfa_join *join, const struct xfa_event *copy);

/* The next that may leave, a call with the device's record of it; NULL = none, for now. last: no
 * more events come, all leave. */
struct xfa_event *xfa_join_pop(struct xfa_join *join, bool last);

/* The end of a process: its copies that wait for a call will not find one. */
void xfa_join_end(struct xfa_join *join);

struct xfa_unjoined {
    uint64_t copies, bytes; /* copies that no recorded call asked for (a graph's, for instance) */
    uint64_t late;          /* calls that had to go on before all their copies had come */
};
const struct xfa_unjoined *xfa_join_unjoined(const struct xfa_join *join);

#endif
