/*
 * Observers of a walk, by what they want to be told of. Private to pass/.
 */
#ifndef XFA_AUDIENCE_H
#define XFA_AUDIENCE_H

#include "analyzer/pass/observer.h"

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
