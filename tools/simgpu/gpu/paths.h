/* How long the paths of the profile take, by the program's numbers of devices. */
#ifndef SIM_PATHS_H
#define SIM_PATHS_H

#include "tools/simgpu/gpu/objects.h"

/* A time of the profile in whole ns; 0: it is none. */
uint64_t sim_whole_ns(double ns);

/* The profile's path between places whose devices are the program's ordinals (xfp_find). */
const struct xfp_path *sim_find_path(enum xfp_method method, struct xfp_place src,
                                     struct xfp_place dst, bool exactly);
/* Time of a path of the profile, or 0 when it has none. */
uint64_t sim_path_ns(enum xfp_method method, struct xfp_place src, struct xfp_place dst,
                     size_t bytes);

#endif
