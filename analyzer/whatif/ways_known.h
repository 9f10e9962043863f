/*
 * Ways of which nothing new would come, since another one was played. Private to replays*.c.
 */
#ifndef XFW_WAYS_KNOWN_H
#define XFW_WAYS_KNOWN_H

#include "analyzer/whatif/replays.h"

/* The same changes at the same certainty: what came of `of` is what would come of the way. */
bool xfw_ways_alike(const struct xfw_way *of, const struct xfw_way *way);

/* So it is where each has a single change, which does nothing (xfw_replays_try()); */
bool xfw_ways_are_idle(const struct xfw_way *of, const struct xfw_way *way);

/* and where the way has all of those changes of `of` that did anything there: the way's places of
 * those that did (xfw_player_acted()). 0: it has not, or none did. */
uint64_t xfw_way_acted_alone(const struct xfw_way *of, const struct xfw_way *way);

#endif
