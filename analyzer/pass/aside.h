/*
 * Observers that are called in other threads, some thousand events behind the walk: those that say
 * so (observer.h). They get the same events in the same order. Where there are processors for it,
 * those with the most to do have a thread each, and the others one together: none of them shares
 * anything with another that changes while a process is walked over. Private to pass/.
 *
 * Where the process may use one processor only, or no thread can be made, they are called in
 * the walk's own thread; so is a process's beginning, since short walks are over before a thread is
 * there.
 */
#ifndef XFA_ASIDE_H
#define XFA_ASIDE_H

#include "analyzer/pass/observer.h"

#define XFA_ASIDE_THREADS 3

struct xfa_aside;

/* How many threads so many processors have room for, beside the walk and whoever reads ahead of it
 * (ahead.h). */
unsigned xfa_aside_threads(unsigned processors);

/* With room for so many observers. threads: at most XFA_ASIDE_THREADS. */
struct xfa_aside *xfa_aside_new(size_t count, unsigned threads);
void xfa_aside_free(struct xfa_aside *aside); /* when it has caught up */

/* The observers that it calls: to be changed while it has caught up. Borrowed; kinds: those of a
 * process that it wants. */
void xfa_aside_empty(struct xfa_aside *aside);
void xfa_aside_add(struct xfa_aside *aside, const struct xfa_observer *observer, uint64_t kinds);
/* Any of them does. */
bool xfa_aside_wants(const struct xfa_aside *aside, unsigned kind);

/* Events are copied. */
void xfa_aside_event(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_transfer(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_copy(struct xfa_aside *aside, const struct xfa_event *event);
void xfa_aside_unended(struct xfa_aside *aside, const struct xfa_range *range, enum xfa_unended why,
                       uint64_t end_ns);

/* A process is over: observers have all events when it returns. */
void xfa_aside_catch_up(struct xfa_aside *aside);

/* ---- who gets the events --------------------------------------------------------------------- */

/*
 * Observers of a walk, by what they want. Private to pass/.
 */

struct xfa_audience {
    struct xfa_listeners { /* observers, ended by NULL */
        const struct xfa_observer **members;
    } by_kind[XFA_EVENT_KINDS], transfers, copies, unended;
};

/* With room for so many. */
void xfa_audience_init(struct xfa_audience *audience, size_t count);
void xfa_audience_free(struct xfa_audience *audience);

void xfa_audience_empty(struct xfa_audience *audience);
/* Borrowed; kinds: those of a process that it wants. */
void xfa_audience_add(struct xfa_audience *audience, const struct xfa_observer *observer,
                      uint64_t kinds);

/* In the order in which they were added. */
static inline void xfa_tell_event(const struct xfa_audience *audience,
                                  const struct xfa_event *event)
{
    for (const struct xfa_observer **o = audience->by_kind[event->kind].members; *o; o++)
        (*o)->event((*o)->self, event);
}

static inline void xfa_tell_transfer(const struct xfa_audience *audience,
                                     const struct xfa_event *event)
{
    for (const struct xfa_observer **o = audience->transfers.members; *o; o++)
        (*o)->transfer((*o)->self, event);
}

static inline void xfa_tell_copy(const struct xfa_audience *audience, const struct xfa_event *event)
{
    for (const struct xfa_observer **o = audience->copies.members; *o; o++)
        (*o)->copy((*o)->self, event);
}

static inline void xfa_tell_unended(const struct xfa_audience *audience,
                                    const struct xfa_range *range, enum xfa_unended why,
                                    uint64_t end_ns)
{
    for (const struct xfa_observer **o = audience->unended.members; *o; o++)
        (*o)->unended((*o)->self, range, why, end_ns);
}

#endif
