/* Pools of device memory. */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "tools/simgpu/gpu/range.h"

/* NULL: out of memory. */
struct sim_pool *sim_default_pool(int device);

#endif
