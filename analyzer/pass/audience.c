#include "analyzer/pass/audience.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

static void make(struct xfa_listeners *listeners, size_t count)
{
    listeners->members = xfa_alloc((count + 1) * sizeof(const struct xfa_observer *));
}

void xfa_audience_init(struct xfa_audience *audience, size_t count)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        make(&audience->by_kind[k], count);
    make(&audience->transfers, count);
    make(&audience->copies, count);
    make(&audience->unended, count);
}

void xfa_audience_free(struct xfa_audience *audience)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        free(audience->by_kind[k].members);
    free(audience->transfers.members);
    free(audience->copies.members);
    free(audience->unended.members);
}

void xfa_audience_empty(struct xfa_audience *audience)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        audience->by_kind[k].members[0] = NULL;
    audience->transfers.members[0] = audience->copies.members[0] = NULL;
    audience->unended.members[0] = NULL;
}

static void join(struct xfa_listeners *listeners, const struct xfa_observer *observer)
{
    size_t n = 0;
    while (listeners->members[n])
        n++;
    listeners->members[n] = observer;
    listeners->members[n + 1] = NULL;
}

void xfa_audience_add(struct xfa_audience *audience, const struct xfa_observer *observer,
                      uint64_t kinds)
{
    for (size_t k = 0; observer->event && k < XFA_EVENT_KINDS; k++)
        if (kinds & XFA_KIND(k))
            join(&audience->by_kind[k], observer);
    if (observer->transfer)
        join(&audience->transfers, observer);
    if (observer->copy)
        join(&audience->copies, observer);
    if (observer->unended && kinds & XFA_KIND(XFT_EVENT_RANGE_END))
        join(&audience->unended, observer);
}
