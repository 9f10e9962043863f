/*
 * An observer sums something up in one walk over the events of a run; pass.h drives any number of
 * them. sums/ has those whose sums are shown, findings/ those of one kind of finding.
 *
 * Per process: process(), which may want less of it than `kinds`, then its events and transfers in
 * the order of their calls' times, then end(). event() gets the kinds in `kinds`; of TRANSFER only
 * calls that moved nothing (failed, captured into a graph, of 0 bytes): all others come as
 * transfer(), joined. copy() gets the device's copies themselves, in their own order of time: as
 * they are read, which is before the calls that wait for them. Nothing that is handed over outlives
 * the call but processes, sites and functions (run.h); numbers of classes and rows (class.h) stay.
 *
 * Functions that an observer does not need are NULL. There is no merging of two observers' states:
 * one thread walks, and a state is of the run from the start.
 */
#ifndef XFA_OBSERVER_H
#define XFA_OBSERVER_H

#include "analyzer/pass/transfer.h"

#define XFA_KIND(kind) ((uint32_t)1 << (kind)) /* of enum xft_event_kind */

struct xfa_step {
    struct xfa_process *process;
    const struct xft_event *event;
    uint32_t lane;
    int32_t tid;
};

struct xfa_observer {
    const char *name;
    uint32_t kinds; /* XFA_KIND()s of the events it wants */
    void *self;     /* handed to each function */
    /* Returns the kinds it wants of this process's events, of those in `kinds`. */
    uint32_t (*process)(void *self, struct xfa_process *process);
    void (*event)(void *self, const struct xfa_step *step);
    void (*transfer)(void *self, const struct xfa_transfer *transfer);
    void (*copy)(void *self, const struct xfa_step *step); /* a DEVICE_COPY */
    void (*end)(void *self, struct xfa_process *process);
};

#endif
