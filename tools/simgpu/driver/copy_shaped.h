/* Copies of rows and layers, as CUDA_MEMCPY3D describes them. */
#ifndef SIM_COPY_SHAPED_H
#define SIM_COPY_SHAPED_H

#include "tools/simgpu/gpu/copy.h"

/* Checks a description and turns it into a copy. */
xcu_result sim_copy_of(const struct xcu_memcpy3d *what, struct sim_copy *copy);

#endif
