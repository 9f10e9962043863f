/*
 * A process's first call makes the context of its GPU, and loads its modules: some hundred
 * milliseconds that are none of the copy's or launch's which the program happens to begin with.
 * Such a call begins when the context is there; so do calls of other threads that waited for it.
 */
#ifndef XFA_FIRST_CALL_H
#define XFA_FIRST_CALL_H

#include "analyzer/pass/event.h"

struct xfa_first_call { /* of a process; zeroed before its first event */
    bool called;
    uint64_t ready_ns; /* the context is there; 0: not made by a call that moves or launches */
};

/* Events of a process in the order of their starts: may change start_ns. */
void xfa_first_call_take(struct xfa_first_call *first, struct xfa_event *event);

#endif
