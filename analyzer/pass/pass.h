/*
 * One walk over a run: joins calls with the device's records of them, in a window (join.h), looks
 * up what the machine could have achieved (achievable.h), and drives the observers.
 *
 * Transfers that failed, were captured into a graph or moved nothing are counted here, and no
 * transfers to observers.
 */
#ifndef XFA_PASS_H
#define XFA_PASS_H

#include "analyzer/pass/observer.h"

struct xfa_counts {
    uint64_t failed, captured, empty;        /* transfers that are in no class; empty: of 0 bytes */
    uint64_t device_only, device_only_bytes; /* device copies without a recorded call */
    uint64_t late;                  /* calls that went on without all their copies (join.h) */
    struct xfa_range_counts ranges; /* zero where no observer wants them */
};

/* Callbacks about how far reading is; both get `self`. */
struct xfa_watch {
    void (*file)(void *self, const char *path); /* this file is opened; the one before is done */
    void (*read)(void *self, double part); /* so much of it has been walked over, from 0 to 1 */
    void *self;
};

struct xfa_pass;

/* All are borrowed and outlive the pass. */
struct xfa_pass *xfa_pass_new(struct xfa_classes *classes, const struct xfa_observer *observers,
                              size_t count);

/* Reports how far a walk is, once per some hundred events. NULL: no reports; borrowed. */
void xfa_pass_watch(struct xfa_pass *pass, const struct xfa_watch *watch);

/* Walks over all events of an open process, and closes it. Observers keep what belongs to one
 * process at a time: several are walked one after the other. */
void xfa_pass_walk(struct xfa_pass *pass, struct xfa_process *process);

/* Nothing more is wanted: the walk at hand ends soon (observers may still get what it has
 * read), and so does each after it. Observers may call it. */
void xfa_pass_stop(struct xfa_pass *pass);

struct xfa_counts xfa_pass_counts(const struct xfa_pass *pass);
/* Of one process: its calls that are transfers; its events by enum xft_event_kind, without the
 * copies of launched graphs, which are in the launch. NULL: no event of it was met. */
uint64_t xfa_pass_transfers(const struct xfa_pass *pass, uint32_t process);
const uint64_t *xfa_pass_kinds(const struct xfa_pass *pass, uint32_t process);
double xfa_pass_overhead_ns(const struct xfa_pass *pass, uint32_t process); /* its OVERHEADs */
void xfa_pass_free(struct xfa_pass *pass);

#endif
