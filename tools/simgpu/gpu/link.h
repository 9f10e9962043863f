/* Kernels that reach memory of the host, or of a peer, over the link. */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "tools/simgpu/gpu/range.h"

struct sim_reach {
    const struct sim_range *range;
    size_t bytes;
    int device; /* of the kernel */
    bool write;
    uint64_t ready; /* when the kernel begins with it */
};
/* ns by the profile's path, with the link to itself; 0: not measured. */
uint64_t sim_reach_alone_ns(const struct sim_reach *reach);
/* The same from `ready` on, in what time the link has left: it is shared with copies of that
 * direction. */
uint64_t sim_reach_ns(const struct sim_reach *reach);

#endif
