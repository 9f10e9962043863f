/*
 * Turns of threads that take them (handovers.h) stay turns, whatever changes do: no record shows
 * whether a lock is needed that is held over a turn's calls, its work and the wait. A wait that
 * ended a turn, and behind which others have begun theirs, lasts until the turn's work is done that
 * was done by then as recorded; and no turn begins before those that began earlier have ended.
 * Where the lock is not needed is a question (changes/by_turns.c). For the player. Private to
 * whatif/.
 *
 * Times are ns, of the schedule.
 */
#ifndef XFW_KEPT_TURNS_H
#define XFW_KEPT_TURNS_H

#include "analyzer/whatif/op/op.h"

struct xfw_kept_turns;
struct xfw_kept_turns *xfw_kept_turns_new(void);
void xfw_kept_turns_free(struct xfw_kept_turns *kept); /* NULL is allowed */

/* When the op, as recorded, can begin at the earliest, by the others' turns that have ended: 0
 * where it begins none. INFINITY: another one's is under way. */
double xfw_kept_turns_from(const struct xfw_kept_turns *kept, const struct xfw_op *recorded);

/* The op was played: its work ends then; NAN: it has none. Until when its thread cannot go on: 0
 * where it ended no turn. */
double xfw_kept_turns_played(struct xfw_kept_turns *kept, const struct xfw_op *recorded,
                             double work_end);

/* The turn that the op has ended is over: its thread goes on then. */
void xfw_kept_turns_end(struct xfw_kept_turns *kept, const struct xfw_op *recorded, double now);

#endif
