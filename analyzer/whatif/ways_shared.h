/*
 * Ways of a run whose ranks are played together, shared out among the members of a team
 * (base/team.h): each plays all processes in some of the ways. Every way is an order of additions
 * of its own, so who plays it makes no difference. Private to whatif/.
 */
#ifndef XFW_WAYS_SHARED_H
#define XFW_WAYS_SHARED_H

#include "analyzer/whatif/replays_walk.h"

/* Moves those that this member plays to the front: how many. What all need, the run as recorded,
 * is played by all. The order of both parts stays. dealt: ways that were shared out before. */
size_t xfw_ways_mine(const struct xfa_team *team, size_t dealt, struct xfw_variant *variants,
                     size_t count);

/* What came of each way, from whoever played it, which counts them as dealt. ways: as they were
 * given to the replays, in that order. Where a process could not be played `whatif` has why: that
 * of the first such process. An exchange. */
bool xfw_ways_exchange(struct xfw_replays *replays, struct xfw_way *const *ways, size_t count,
                       bool done);

#endif
