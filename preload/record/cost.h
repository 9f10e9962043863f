/*
 * What recording costs the program, per kind of event: now and then a call is timed whole, from
 * where its hook has found the thread's lane until its event is written, less the time from its
 * start_ns to its end_ns. The two readings of the clock of every call, and one more here, are in
 * that. What lies between these is the program's call, whatever is done there.
 *
 * A lane times one call of XFS_COST_EVERY, sooner at first, so that short runs have some. The
 * number is prime: programs repeat themselves, and the same call of a step must not be met always.
 * A call that made no event tells nothing.
 *
 * The figures are counts in classes of like size, kept per process in memory, without locks. The
 * background thread notes them in META as they grow (cost.KIND.ns, cost.KIND.n), so that something
 * is there when the process is killed, and the last ones come at the end.
 *
 * What is not done at every call (a thread's first event, a new call stack, a new kernel, room for
 * events) takes ten to a hundred times as long, and a median does not know of it. Each time it is
 * told as an event of its own, OVERHEAD: where that happens, which is far from any hot path, the
 * call under way is made one that is timed, and its end says from when to when.
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

#define XFS_COST_FIRST 13
#define XFS_COST_EVERY 251
/* Where a lane's count stands while a call is timed, and only then: when that failed, or a signal
 * handler made calls meanwhile, it is not met any more, and nothing comes of it. */
#define XFS_COST_TIMED 256

#define XFS_COST_KINDS 30
#define XFS_COST_EXACT 32 /* ns that have a class each; from there on 16 to an octave */
#define XFS_COST_CLASSES (XFS_COST_EXACT + 16 * 19)

#define XFS_OVERHEAD_LEAST_NS 1000 /* what took less is no event */

struct xfs_costs {
    atomic_uint n[XFS_COST_KINDS];
    atomic_uint counts[XFS_COST_KINDS][XFS_COST_CLASSES];
    unsigned noted[XFS_COST_KINDS]; /* n in META, of one thread at a time */
};

/* This call is timed. Returns the lane. Keeps errno, as the next one. */
XFS_COLD struct xfs_lane *xfs_cost_begins(struct xfs_lane *lane);

/* Its event has been written, with these times. */
XFS_COLD void xfs_cost_ends(struct xfs_lane *lane, uint8_t kind, uint64_t start_ns,
                            uint64_t end_ns);

/* The recorder does something unusual in this thread, between the return of a call and the writing
 * of its event (why: of enum xft_overhead): that time is told with xfs_cost_ends(). */
XFS_COLD void xfs_cost_unusual(unsigned why);

/* It did since from_ns (xfs_now_apart_ns()), before a call or in it: told at once. Keeps errno. */
XFS_COLD void xfs_cost_took(unsigned why, uint64_t from_ns);

/* The thread got its lane, from when to when: told with its first event. */
XFS_COLD void xfs_cost_attached(struct xfs_lane *lane, uint64_t from_ns);

/* The count that a lane begins with, of a thread before it (0: none) or anew. */
uint32_t xfs_cost_count(uint32_t before);

/* Into META what has doubled since the last time; at the end whatever there is. */
void xfs_cost_note(struct xfs_recorder *recorder, bool end);

/* ---- for tests --------------------------------------------------------------------------- */

void xfs_cost_add(struct xfs_costs *costs, uint8_t kind, uint64_t ns);

/* 0 when there is none. */
uint64_t xfs_cost_median(struct xfs_costs *costs, uint8_t kind);

#endif
