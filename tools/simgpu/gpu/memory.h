/* Memory of devices, pinned and managed memory: taking address space for it. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "tools/simgpu/gpu/range.h"

/* Takes address space of a region for a range and enters it; its start is filled in. The region is
 * made, with so many bytes, when it is NULL. */
xcu_result sim_allocate(struct sim_region **region, size_t region_bytes, struct sim_range *range);

/* Allocates device memory. */
xcu_result sim_device_alloc(int device, size_t bytes, unsigned flags, struct sim_pool *pool,
                            xcu_deviceptr *out);
/* Frees all memory of a context. */
void sim_memory_release(struct sim_context *context);

#endif
