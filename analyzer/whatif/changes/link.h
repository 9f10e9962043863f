/*
 * A GPU's link with the host runs as fast as it can: copies of page-locked memory take so many
 * times less, but for what one costs whatever its size (the profile's Lo). Pageable memory is
 * copied by the processor, which gains nothing. At worst half of it is gained, since the host's
 * memory may not keep up.
 */
#ifndef XFW_CHANGE_LINK_H
#define XFW_CHANGE_LINK_H

#include "analyzer/whatif/change.h"

/* factors: of the run's GPUs, how many times faster; copied. 1, and GPUs beyond: as it was. */
struct xfw_change *xfw_change_link(const struct xfa_analysis *analysis, const double *factors,
                                   size_t count);

#endif
