/*
 * An observer that is told in a thread of its own, some thousand events behind the walk. What it
 * hears, and in which order, is the same.
 *
 * Where the process may use one processor only, or no thread can be made, it is told in the walk's
 * own thread; so are the first events, since short walks are over before a thread is there.
 *
 * What such an observer may look at: the event, of its class what does not change (key, number,
 * paths), and what is known of the process since it was opened. It may not look for sites and
 * functions, since that makes them. process() and end() come in the walk's thread, when all events
 * before were told.
 */
#ifndef XFA_ASIDE_H
#define XFA_ASIDE_H

#include "analyzer/pass/observer.h"

struct xfa_aside;

/* `of`: copied. One without copy(). */
struct xfa_aside *xfa_aside_new(const struct xfa_observer *of);
void xfa_aside_free(struct xfa_aside *aside); /* outside of walks */

/* For one pass at a time. */
struct xfa_observer xfa_aside_observer(struct xfa_aside *aside);

#endif
