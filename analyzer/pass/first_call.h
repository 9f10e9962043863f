/*
 * A process's first call makes the context of its GPU, and loads its modules: some hundred
 * milliseconds that are none of the copy's or launch's which the program happens to begin with.
 * Such a call begins when the context is there; so do calls of other threads that waited for it.
 */
#ifndef XFA_FIRST_CALL_H
#define XFA_FIRST_CALL_H

#include "analyzer/pass/event.h"

/* To make a context takes at least so much, ns (a guess): 143 ms were measured on an H100
 * (docs/results/apply-within-h100-2026-11-28.md), 236 with the modules on an H200. */
#define XFA_CONTEXT_NS 50000000u

struct xfa_first_call { /* of a process; zeroed before its first event */
    bool called;
    uint64_t ready_ns; /* the context is there; 0: not made by a call that moves or launches */
};

/* While it is not known what the first call did, and of what began before the context was there. */
void xfa_first_call_look(struct xfa_first_call *first, struct xfa_event *event);

/* Events of a process in the order of their starts: may change start_ns. */
static inline void xfa_first_call_take(struct xfa_first_call *first, struct xfa_event *event)
{
    if (!first->called || event->start_ns < first->ready_ns)
        xfa_first_call_look(first, event);
}

#endif
