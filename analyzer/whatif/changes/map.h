/*
 * Page-locked memory is not copied to the device any more: kernels read it where it is, over the
 * link, and only what they read crosses it. The copies go; each kernel that is given what they
 * filled takes as much longer as that takes.
 *
 * How much it reads is known by its time at most: so much as is read of the device's memory
 * meanwhile. Likely: half of that; at worst all of it in scattered pieces, at half the link's pace;
 * at best hardly anything.
 */
#ifndef XFW_CHANGE_MAP_H
#define XFW_CHANGE_MAP_H

#include "analyzer/whatif/change.h"

/* classes: of the copies, which become the change's. */
struct xfw_change *xfw_change_map(const struct xfa_analysis *analysis, struct xfw_set *classes);

#endif
