/*
 * Kernels that read mapped memory of the host more than once over read a copy of it in the device's
 * memory instead: it is copied before each of them, in its stream, and the kernel takes as long as
 * so much reading takes there.
 *
 * Likely: a kernel's time is all reading, at the pace of the link; it only reads, unless its name
 * says otherwise (then what it wrote is copied back). At worst it takes as long as before, and may
 * have written; at best it reads twice as fast as a copy within the device, and the host changes
 * the memory once only.
 */
#ifndef XFW_CHANGE_STOP_MAPPING_H
#define XFW_CHANGE_STOP_MAPPING_H

#include "analyzer/whatif/change.h"

/* sites: of the allocations, which become the change's. */
struct xfw_change *xfw_change_stop_mapping(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites);

#endif
