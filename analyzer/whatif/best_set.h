/*
 * Which changes are best together (whatif.h says how they are found).
 */
#ifndef XFW_BEST_SET_H
#define XFW_BEST_SET_H

#include "analyzer/whatif/families.h"

/* Fills in order, added, search of whatif, whose alone is known as likely. Returns how many members
 * the set has. */
unsigned xfw_best_set(struct xfw_replays *replays, struct xfw_whatif *whatif,
                      struct xfw_change *const *changes);

#endif
