/*
 * What recording costs the program, in ns per kind of event. Some calls are timed as a whole, from
 * where the hook has found the thread's lane until the event is written, minus the time from
 * start_ns to end_ns, which counts as the program's call. The cost includes the two clock readings
 * of every call, and one more of the timing itself.
 *
 * A lane times one call in XFS_COST_EVERY, and more of its first calls, so that short runs have
 * samples. The number is prime, so that in a program that repeats a sequence of calls not always
 * the same one is timed. A call without an event gives no sample, nor does one behind which
 * something unusual was done (below): the next one is timed in its place.
 *
 * The samples are counted in a histogram per kind of event, in memory, without locks. The
 * background thread writes median and count to META as they grow (cost.KIND.ns, cost.KIND.n), so
 * that a process that is killed has them; the last values are written at the end.
 *
 * Work that is not done at every call (a thread's first event, a new call stack, a new kernel, a
 * new slab) takes ten to a hundred times as long, and the median does not show it. Each time it
 * becomes an OVERHEAD event: xfs_cost_unusual() makes the current call a timed one, and its end
 * gives the event's times.
 *
 * Cost. Two instructions where a call begins and two where it ends (hot.h).
 */
#ifndef XFS_COST_H
#define XFS_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

struct xfs_lane;
struct xfs_recorder;
struct xft_event;

#define XFS_COST_FIRST 13
#define XFS_COST_EVERY 251
/* A lane's count while a call is timed, and only then. If the call makes no event, or a signal
 * handler makes calls meanwhile, the count is another one at its end, and there is no sample. */
#define XFS_COST_TIMED 256

#define XFS_COST_KINDS 37
#define XFS_COST_EXACT 32 /* ns with a class each; beyond, 16 classes per octave */
#define XFS_COST_CLASSES (XFS_COST_EXACT + 16 * 19)

#define XFS_OVERHEAD_LEAST_NS 1000 /* shorter ones are no event */

struct xfs_costs {
    atomic_uint n[XFS_COST_KINDS];
    atomic_ullong calls[XFS_COST_KINDS]; /* of which those stand, about */
    atomic_uint counts[XFS_COST_KINDS][XFS_COST_CLASSES];
    unsigned noted[XFS_COST_KINDS]; /* n as last written to META; one thread at a time */
};

/* Begins to time this call. Returns the lane. This one and the next keep errno. */
XFS_COLD struct xfs_lane *xfs_cost_begins(struct xfs_lane *lane);

/* The timed call's event has been written, with these times. */
XFS_COLD void xfs_cost_ends(struct xfs_lane *lane, uint8_t kind, uint64_t start_ns,
                            uint64_t end_ns);

/* The recorder does something unusual (why: of enum xft_overhead) in this thread, between the
 * return of a call and the writing of its event: xfs_cost_ends() writes the OVERHEAD event. */
XFS_COLD void xfs_cost_unusual(unsigned why);

/* The recorder did something unusual since from_ns (xfs_now_apart_ns()), before a call or in it:
 * writes the OVERHEAD event at once. Keeps errno. */
XFS_COLD void xfs_cost_took(unsigned why, uint64_t from_ns);

/* As a call begins, before an event that is not its own is written: a new slab for that, if one is
 * needed, is what the recorder has done since from_ns. Keeps errno. */
XFS_COLD void xfs_cost_make_room(uint64_t from_ns);

/* Writes an event of this thread that is not its call's, between two calls or in one. Keeps errno.
 */
XFS_COLD void xfs_event_write_aside(const struct xft_event *event);

/* The thread got its lane between from_ns and now, and had been at work for worked_ns of the
 * processor's time (0: not known): written with its first event. */
XFS_COLD void xfs_cost_attached(struct xfs_lane *lane, uint64_t from_ns, uint64_t worked_ns);

/* The count that a lane begins with; `before`: where its last thread left it (0: none). */
uint32_t xfs_cost_count(uint32_t before);

/* Writes to META the counts that have doubled since the last time; at the end all of them. */
void xfs_cost_note(struct xfs_recorder *recorder, bool end);

/* Calls of this kind so far: known to some hundred for each thread. From any thread, as the next;
 * 0 while nothing is recorded. */
uint64_t xfs_cost_calls(uint8_t kind);

/* What the hooks have cost so far, ns: of each kind the median times the calls. */
uint64_t xfs_cost_spent_ns(void);

/* ---- for tests --------------------------------------------------------------------------- */

void xfs_cost_add(struct xfs_costs *costs, uint8_t kind, uint64_t ns);

/* 0 when there is none. */
uint64_t xfs_cost_median(struct xfs_costs *costs, uint8_t kind);

#endif
