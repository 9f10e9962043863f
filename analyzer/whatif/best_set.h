/*
 * Which changes are best together (whatif.h says how they are found).
 */
#ifndef XFW_BEST_SET_H
#define XFW_BEST_SET_H

#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/result.h"

/* The way's changes: those of a set in their order (NULL: none), without one of them, and one more
 * (SIZE_MAX: none). Those that are to be first (change.h) come first, idle ones not at all. */
void xfw_way_of(struct xfw_way *way, struct xfw_change *const *changes, const unsigned *order,
                size_t count, size_t more, size_t without);

/* Fills in order, added, search of whatif, whose alone is known as likely. Returns how many members
 * the set has. */
unsigned xfw_best_set(struct xfw_replays *replays, struct xfw_whatif *whatif,
                      struct xfw_change *const *changes);

/* The change is the best of its family (change.h), and not for comparison. */
bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i);

#endif
