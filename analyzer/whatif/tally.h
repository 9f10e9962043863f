/*
 * What came of one walk in which a run was replayed: parts, process by process, and their sum.
 * Private to whatif/.
 *
 * A part is all that playing one process tells: when it ends and how long its phases last, as
 * recorded and in each way. Whoever plays the process writes its part down; members of a team
 * exchange theirs (base/team.h), and each adds all of them up in the order of the processes. One
 * process alone does the same, so that the sums are equal to the bit.
 *
 * Beside the parts, and in no order: how many transfers changes took, which are added up; what
 * changes know of their own (xfw_change.staged_ns), of which the most counts; and why a member
 * could not play a process: that of the first process decides, as if one had played all.
 */
#ifndef XFW_TALLY_H
#define XFW_TALLY_H

#include "analyzer/base/team.h"
#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/schedule/contexts.h"

struct xfw_tally;
/* ways: borrowed, and filled in by xfw_tally_sum(). */
struct xfw_tally *xfw_tally_new(struct xfw_way *const *ways, size_t count);
void xfw_tally_free(struct xfw_tally *tally);

/* A part, in the order of these functions, which begins with when the process ended as recorded (of
 * the run's time, ns), its span (span_ns NAN: it gave the device no work) and the contexts that it
 * made within. Processes come in ascending order. */
void xfw_tally_part(struct xfw_tally *tally, uint32_t process, double end_ns, double span_ns,
                    const struct xfw_contexts *contexts);
/* A phase as recorded; then in each way, in their order: */
void xfw_tally_phase(struct xfw_tally *tally, const char *name, double recorded_ns);
void xfw_tally_phase_in_way(struct xfw_tally *tally, double ns);
/* All phases are there; then each way, in their order: */
void xfw_tally_phases_over(struct xfw_tally *tally);
void xfw_tally_way(struct xfw_tally *tally, double end_ns, double span_ns, double error_ns,
                   double left_ns);

/* What the players of a way count into (player.h); NULL: nobody asks. */
struct xfa_table *xfw_tally_counts(struct xfw_tally *tally, size_t way);

/* The process cannot be played: one line. Nothing is added any more. */
void xfw_tally_fail(struct xfw_tally *tally, uint32_t process, const char *why);

/* Exchanges the parts with the team (NULL: none), and adds them up into the ways and the run's own
 * times in `whatif`: of those as recorded phases and span only where `recording`. NULL, or why a
 * process could not be played, for free(): the sums are of the processes before it. */
char *xfw_tally_sum(struct xfw_tally *tally, struct xfa_team *team, struct xfw_whatif *whatif,
                    bool recording);

#endif
