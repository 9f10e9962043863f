/*
 * A run's ops (op.h), found while it is walked over: the walk that sums the run up finds
 * them, too (findings have the observer), so that replaying it needs no walk of its own.
 *
 * They are kept in memory up to a limit, and behind that in a file (op_store.h); those of ranks
 * that are played together in memory alone. Of long processes only those are kept that are to be
 * played (sample.h), and for the others what the process's times as recorded need. Where more would
 * have to be kept, or an event comes of which too late is known that nothing may be left out (a
 * range), nothing is kept: the run is walked over again then, and its ops are given to whoever
 * plays them as they come.
 *
 * A member of a team (base/team.h) finds and keeps those of its own processes. Where ranks are
 * played together each member plays all of them: then they give each other what they have kept.
 *
 * Times are ns.
 */
#ifndef XFW_GATHER_H
#define XFW_GATHER_H

#include "analyzer/pass/observer.h"
#include "analyzer/whatif/ops/op_store.h"
#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/schedule/contexts.h"

/* What was learnt of a process. */
struct xfw_gathered {
    struct xfw_sample *sample;     /* NULL: all its ops are played */
    double last_ns;                /* the end of its last call */
    bool over;                     /* it was walked over to its end */
    bool threads;                  /* several of them have made calls so far */
    bool worked;                   /* the device was given work */
    double first_work, last_work;  /* as the schedule's span: schedule.h */
    struct xfw_contexts contexts;  /* made within */
    struct xfw_jobs *jobs;         /* once it is over: NULL: nobody waits for such */
    struct xfw_phase_time *ranges; /* XFW_RANGES of them; NULL: it has none */
};

/* As recorded: how long ranges of this number were open, as the schedule counts it. */
double xfw_gathered_range_ns(const struct xfw_gathered *gathered, uint32_t number);

/* Who plays ops as they come: a process begins; a batch of up to XFW_BATCH of its ops, which may be
 * changed until the call returns (stretch: what the sample made of it; NULL: none is left out); it
 * is over, as struct xfw_sink (ops.h) and xfw_op_store_end() have it. */
struct xfw_gather_sink {
    void (*process)(void *self, struct xfa_process *process);
    void (*batch)(void *self, struct xfw_op *ops, size_t count, const struct xfw_stretch *stretch);
    void (*end)(void *self, struct xfa_process *process, double end_ns,
                const uint64_t ranges[XFW_RANGES]);
    void *self;
};

struct xfw_gather;
/* most: bytes of ops that may be kept, 0: none. samples: ops may be left out. sink: copied; NULL:
 * nobody plays them now, and those that are kept have calls of MPI, too (ops_messages.h). */
struct xfw_gather *xfw_gather_new(size_t most, bool samples, const struct xfw_gather_sink *sink);
void xfw_gather_free(struct xfw_gather *gather);

/* For one pass; it lasts as long as the pass's classes. */
struct xfa_observer xfw_gather_observer(struct xfw_gather *gather);

size_t xfw_gather_most(const struct xfw_gather *gather); /* bytes that it may keep */

/* All ops of the run that this member plays; NULL: they are not kept. */
struct xfw_op_store *xfw_gather_kept(struct xfw_gather *gather, const struct xfa_run *run);
/* Calls of MPI or kernels of NCCL are among them: they are to be played together (together.h). */
bool xfw_gather_has_messages(const struct xfw_gather *gather);
/* Some ops may have been left out. */
bool xfw_gather_left_out(const struct xfw_gather *gather);
/* The level of all samples from now on (sample.h); any of them has more levels. */
void xfw_gather_at_level(struct xfw_gather *gather, unsigned level);
bool xfw_gather_has_more(const struct xfw_gather *gather);
/* Of a process that was walked over, by its number in the run; lasts until the next process. */
struct xfw_gathered *xfw_gather_of(struct xfw_gather *gather, uint32_t process);
/* Every member of the run's team has kept its own; now each has those of all. False: one of them
 * has no room for these, and what each has kept is of no more use. An exchange, of all members. */
bool xfw_gather_exchange(struct xfw_gather *gather, const struct xfa_run *run);
size_t xfw_gather_count(const struct xfw_gather *gather); /* process numbers below are known */
/* The ops of this process are among those that are kept, in the order of the processes. */
bool xfw_gather_has(const struct xfw_gather *gather, uint32_t process);

#endif
