/*
 * Ways of a run whose ranks are played together, shared out among the members of a team
 * (base/team.h): each plays all processes in some of the ways. Every way is an order of additions
 * of its own, so who plays it makes no difference. Private to whatif/.
 */
#ifndef XFW_WAYS_SHARED_H
#define XFW_WAYS_SHARED_H

#include "analyzer/whatif/replays_walk.h"

/* Whose figures of each way count: by whoever has played the least so far, of equal ones the last
 * (rank 0 writes the report). For free(). */
uint32_t *xfw_ways_deal(struct xfw_replays *replays, struct xfw_way *const *ways, size_t count);

/* Moves those that this member plays to the front: how many. What all need, the run as recorded,
 * is played by all. The order of both parts stays. */
size_t xfw_ways_mine(const struct xfa_team *team, const uint32_t *owners,
                     struct xfw_variant *variants, size_t count);

/* What came of each way, from whoever played it. ways: as they were given to the replays, in that
 * order. Where a process could not be played `whatif` has why: that of the first such process. An
 * exchange. */
bool xfw_ways_exchange(struct xfw_replays *replays, struct xfw_way *const *ways,
                       const uint32_t *owners, size_t count, bool done);

#endif
