/*
 * A set of changes on trial: changes that may only pay together, of which those go that do not.
 * Private to the search for the best set (best_set.h).
 */
#ifndef XFW_SET_TRIAL_H
#define XFW_SET_TRIAL_H

#include "analyzer/whatif/families.h"

/* Of the run: what adds less is not worth a change, since nobody could tell: two runs differ by as
 * much. */
#define XFW_LEAST_GAIN XFW_RUN_ERROR

/* What a change has to add to a set, where others have to add that part of the run: as much as to
 * be advice by itself, where it is more work than others (of_span). Below 0: nobody has to. */
double xfw_set_least_ns(const struct xfw_whatif *whatif, const struct xfw_change *change,
                        double least_gain);

/* Places in a set that is tried: unsigned order[] as in struct xfw_whatif. */
struct xfw_trial {
    unsigned *order;
    unsigned members, more; /* all, and those that are not in the set so far */
};

/* Can the change be made as a whole with all that are in the order, and does it cost little by
 * itself? */
bool xfw_goes_with(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                   const unsigned *order, size_t i);

/* All that can be made together with `one` on top of so many members of whatif, in the order of
 * what they save alone. The caller frees its order. */
struct xfw_trial xfw_trial_of_all(const struct xfw_whatif *whatif,
                                  struct xfw_change *const *changes, unsigned members, size_t one);

/* Takes out, one after the other, what adds less than that part of the run; below 0: without which
 * the run is so much shorter. *all_ns is the run with what is left. False: it cannot be played. */
bool xfw_trial_take_out_below(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                              struct xfw_change *const *changes, double least_gain,
                              struct xfw_trial *trial, double *all_ns);

/* Of the family of each member that is new the first that saves as much as the best takes its
 * place; so_far is the run without them, ns. False: it cannot be played. */
bool xfw_trial_decide_families(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                               struct xfw_change *const *changes, struct xfw_trial *trial,
                               double so_far);

/* Makes the members behind the first so many those of whatif, each with its part: what it adds to
 * those before it. so_far is the run with these, ns. False: it cannot be played. */
bool xfw_trial_play_parts(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes, const struct xfw_trial *trial,
                          unsigned members, double so_far);

/* The change is whatif's member at that place from now on, and adds so much. */
void xfw_set_join(struct xfw_whatif *whatif, size_t i, unsigned place, double adds_ns);

/* How much may be missing where two changes are said to add the same: what the replay is not sure
 * of. */
double xfw_set_not_sure_ns(const struct xfw_whatif *whatif, double adds_ns);

#endif
