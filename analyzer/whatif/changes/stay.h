/*
 * Managed memory of which kernels touch a little stays with the host, and the kernels reach it over
 * the link: preferred location and accessed by. Nothing moves to such a kernel, and so nothing has
 * to come back from it.
 *
 * How much a kernel touches is known by the time in which it did not wait for pages, at most: so
 * much as can be read on the device meanwhile. Of kernels that may have touched a quarter of what
 * moved all stays as it is. Likely (and at best, hardly anything) that much is read over the link;
 * at worst half of all that moved is read and written there. Of the host's faults see
 * prefetch.h.
 */
#ifndef XFW_CHANGE_STAY_H
#define XFW_CHANGE_STAY_H

#include "analyzer/whatif/change.h"

struct xfw_change *xfw_change_stay(const struct xfa_analysis *analysis);

#endif
