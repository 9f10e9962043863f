/*
 * A copy to the device, the kernels that work on it and the copy back, all of it one behind the
 * other in a stream, are cut into parts: while one is computed the next one comes and the last one
 * goes (van Werkhoven et al., section VII: streams).
 *
 *   - Asynchronous copies of page-locked memory in one piece are cut that are so large that each
 *     part is XFW_LEAST_PART bytes at least, kernels that have XFW_LEAST_THREADS threads for each
 *     part. A kernel's part waits for that part of all copies before it, a copy's part for the
 *     kernel's. What is not cut waits for all parts, and they for it.
 *   - A part of a copy takes its share of the time, and what the profile has for a copy of that
 * size beyond its share; a part of a kernel its share and XFW_LAUNCHED_NS. The host pays for each.
 *   - Copies that meet those of the other direction: both_ways.h.
 *
 * That kernels can be cut is taken for granted; at worst nothing is.
 */
#ifndef XFW_CHANGE_SPLIT_H
#define XFW_CHANGE_SPLIT_H

#include "analyzer/whatif/change.h"

#define XFW_MOST_PARTS 16
#define XFW_LEAST_PART ((uint64_t)256 << 10)
#define XFW_LEAST_THREADS 16384
#define XFW_LAUNCHED_NS 2000.0
/* Of the run: rewriting kernels is more than to call them otherwise. */
#define XFW_SPLIT_LEAST 0.1

/* parts: 2 to XFW_MOST_PARTS. */
struct xfw_change *xfw_change_split(const struct xfa_analysis *analysis, unsigned parts);

#endif
