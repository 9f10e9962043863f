/* Allocation. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "tools/simgpu/gpu/range.h"

/* Takes address space of a region for a range and enters it; its start is filled in. The region is
 * made, with so many bytes, when it is NULL. */
xcu_result sim_allocate(struct sim_region **region, size_t region_bytes, struct sim_range *range);

/* Allocates device memory. */
xcu_result sim_device_alloc(int device, size_t bytes, unsigned flags, struct sim_pool *pool,
                            xcu_deviceptr *out);
/* Everything that belongs to a context, or to a device when its primary context is reset. */
void sim_memory_release(struct sim_context *context);

#endif
