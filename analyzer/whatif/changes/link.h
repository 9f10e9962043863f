/*
 * A GPU's link with the host runs as fast as it can: copies of page-locked memory take so many
 * times less, but for what one costs whatever its size (the profile's Lo). Pageable memory is
 * copied by the processor, which gains nothing. At worst half of it is gained, since the host's
 * memory may not keep up; nothing, where it is not known that it is the link (surely: it is).
 */
#ifndef XFW_CHANGE_LINK_H
#define XFW_CHANGE_LINK_H

#include "analyzer/whatif/change.h"

/* How many times faster; 1: as it was. */
struct xfw_link_factors {
    double to_device, to_host;
};

/* factors: of the run's GPUs; copied. GPUs beyond: as it was. */
struct xfw_change *xfw_change_link(const struct xfa_analysis *analysis,
                                   const struct xfw_link_factors *factors, size_t count,
                                   bool surely);

#endif
