/*
 * What comes of apply's trials (preload/apply/site/proof.h) at one place: both ways by turns, then
 * the one whose median is better. So what gains now and then is left alone where most do not, and
 * the other way round.
 */
#ifndef XFW_TRIALS_H
#define XFW_TRIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/table.h"

#define XFW_APPLIED_WORTH 0.9 /* of the program's way: what gains less is left */
#define XFW_TRIALS_EACH 5

/* Zeroed at first. */
struct xfw_trials {
    unsigned made;
    double ns[2][XFW_TRIALS_EACH]; /* as asked; as apply makes them */
    bool gains;
};

/* Does apply make the next one? It would take so long as asked, and applied: of different sizes, by
 * the byte. */
bool xfw_trials_next(struct xfw_trials *trials, bool applied_first, double asked_ns,
                     double applied_ns);

/* Those of copies of a class and of a size (powers of two). */
void xfw_trials_table(struct xfa_table *table);
struct xfw_trials *xfw_trials_of(struct xfa_table *table, uint32_t class, uint64_t bytes);

#endif
