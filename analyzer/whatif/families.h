/*
 * Ways to play the run with some of the changes, and changes that differ in a number alone
 * (change.h): which one of a family stands for it. For best_set.c.
 */
#ifndef XFW_FAMILIES_H
#define XFW_FAMILIES_H

#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/result.h"

/* The way's changes: those of a set in their order (NULL: none), without one of them, and one more
 * (SIZE_MAX: none). Those that are to be first (change.h) come first, those that are to be last
 * behind the others, idle ones, and such as change nothing at the way's certainty, not at all: so
 * ways that come to the same are played once. */
void xfw_way_of(struct xfw_way *way, struct xfw_change *const *changes, const unsigned *order,
                size_t count, size_t more, size_t without);

/* An array of ways, and what they own. */
void xfw_ways_free(struct xfw_way *ways, size_t count);

/* They differ in a number, and neither is there for comparison. */
bool xfw_same_family(const struct xfw_change *a, const struct xfw_change *b);

/* The change is the best of its family (change.h), and not for comparison. */
bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i);

/* Of a family of which none is in the set: can it be made as a whole with all that are? */
bool xfw_family_may_join(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                         size_t i);

/* The one of its family that is tried with others: the last, with the most streams, buffers, parts,
 * of those that cost no more by themselves than the best. */
bool xfw_stands_for_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                           size_t i);

/* Is any of its family in? */
bool xfw_has_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                    const unsigned *order, size_t i);

/* The order without those that `one` excludes. Returns how many members are left. */
unsigned xfw_set_make_place(struct xfw_whatif *whatif, const struct xfw_change *one);

#endif
