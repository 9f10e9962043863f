/*
 * An observer sums something up in one walk over the events of a run; pass.h drives any number of
 * them. sums/ has those whose sums are shown, findings/ those of one kind of finding.
 *
 * pass() comes first, once. Per process: process(), which may want less of it than `kinds`, then
 * its events and transfers in the order of their calls' times, then end(). event() gets the kinds
 * in `kinds`; of TRANSFER only calls that moved nothing (failed, captured into a graph, of 0
 * bytes): all others come as transfer(), joined (event.h). copy() gets the device's copies
 * themselves, in their own order of time: as they are read, which is before the calls that wait for
 * them. unended() comes when another thread goes on with a lane, and before end(). Nothing that is
 * passed outlives the call but processes, sites and functions (run.h); numbers of classes and
 * rows (class.h) stay.
 *
 * Members of a team (base/team.h) have the same observers. Each sees all processes from the start,
 * but for those that are `shared`; what is done for a process of its own (whatif/ops/ops.h) wants
 * nothing of others'. After a survey (walked.h) no one need see another member's process who is
 * `divided`, or in whom it leaves nothing.
 *
 * Functions that an observer does not need are NULL. It is called by one thread at a time.
 */
#ifndef XFA_OBSERVER_H
#define XFA_OBSERVER_H

#include "analyzer/pass/event.h"

#define XFA_KIND(kind) ((uint64_t)1 << (kind)) /* of enum xft_event_kind */

#define XFA_ALL_KINDS UINT64_MAX
#define XFA_KINDS_OF_MESSAGES                                                                      \
    (XFA_KIND(XFT_EVENT_MESSAGE) | XFA_KIND(XFT_EVENT_MESSAGE_END) |                               \
     XFA_KIND(XFT_EVENT_COMMUNICATOR))

/* All that threads of the program call of CUDA; not what devices and the recorder did. Calls of MPI
 * and NCCL read and write memory of the host: they belong to the program's own time. */
#define XFA_KINDS_OF_CALLS (~(XFA_KINDS_OF_OTHERS | XFA_KINDS_OF_MESSAGES))

struct xfa_observer {
    const char *name;
    uint64_t kinds; /* XFA_KIND()s of the events it wants */
    void *self;     /* the first argument of each function */
    /* It may be called in a thread of its own, behind the walk: of an event it looks at
     * what is in it, of its class at what does not change (key, number, paths), of the process at
     * what was known when it was opened; it looks for no sites and functions. process() and end()
     * come in the walk's thread, when it has seen all before. */
    bool aside;
    /* `aside`: it has as much to do as many others, and gets a thread to itself (pass/aside.h). */
    bool apart;
    /* In a team it sees the processes of this member alone, and its sums are merged when the run
     * was read (findings/divided.h). It looks for no sites and functions but of the events that
     * sums/waits.h has: the members have the same, in the same order. */
    bool shared;
    /* As `shared`, but only after a survey: it may look for any sites and functions, whose numbers
     * are known by then. Without one it sees all processes. */
    bool divided;
    /* `divided`: the part of its room for the run that it has used so far. Where the parts of all
     * members add up to 1 something may have to be left out, by the order of the processes: then
     * all members read all. NULL: whatever is left out is so in any order. */
    double (*filled)(const void *self);
    /* Asked behind end(): has the process left anything in its sums? They are then as they would be
     * if the process had no event (process() and end() may read its META). NULL: not known. */
    bool (*touched)(const void *self);
    bool meets; /* process() and end() come for processes, too, that it does not see */
    /* It belongs to a pass, of which these are the classes. They are borrowed from the pass's
     * owner, and outlive it. */
    void (*pass)(void *self, const struct xfa_classes *classes);
    /* Returns the kinds it wants of this process's events, of those in `kinds`. */
    uint64_t (*process)(void *self, struct xfa_process *process);
    void (*event)(void *self, const struct xfa_event *event);
    void (*transfer)(void *self, const struct xfa_event *event);
    void (*copy)(void *self, const struct xfa_event *event); /* a DEVICE_COPY */
    xfa_unended_fn *unended; /* of those that want RANGE_END: a range ends that has none */
    void (*end)(void *self, struct xfa_process *process);
};

#endif
