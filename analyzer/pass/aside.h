/*
 * Observers that are told in a thread of their own, some thousand events behind the walk: those
 * that say so (observer.h). What they hear, and in which order, is the same. Private to pass/.
 *
 * Where the process may use one processor only, or no thread can be made, they are told in the
 * walk's own thread; so is a process's beginning, since short walks are over before a thread is
 * there.
 */
#ifndef XFA_ASIDE_H
#define XFA_ASIDE_H

#include "analyzer/pass/audience.h"

struct xfa_aside;

/* With room for so many observers. */
struct xfa_aside *xfa_aside_new(size_t count);
void xfa_aside_free(struct xfa_aside *aside); /* when it has caught up */

/* Whom it tells: to be filled while it has caught up. */
struct xfa_audience *xfa_aside_audience(struct xfa_aside *aside);

/* What is handed over is copied. */
void xfa_aside_event(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_transfer(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_copy(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_unended(struct xfa_aside *aside, const struct xfa_range *range, enum xfa_unended why,
                       uint64_t end_ns);

/* A process is over: all was told when it returns. */
void xfa_aside_catch_up(struct xfa_aside *aside);

#endif
