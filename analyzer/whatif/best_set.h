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

/* ---- its steps, for who starts from another set (questions.c) ---------------------------------
 */

/* Adds to the order, of so many members with which the run takes *so_far, one after the other what
 * saves the most on top. Returns how many members there are; *so_far is the run with them. */
unsigned xfw_set_by_steps(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes, unsigned members, double *so_far);

/* Time of the run with those of the order; INFINITY: it cannot be played. */
double xfw_set_ns(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                  struct xfw_change *const *changes, const unsigned *order);

#endif
