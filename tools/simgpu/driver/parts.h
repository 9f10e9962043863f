/* Between the files of this directory: copies, nodes of graphs, pools. */
#ifndef SIM_DRIVER_PARTS_H
#define SIM_DRIVER_PARTS_H

#include "tools/simgpu/gpu/copy.h"
#include "tools/simgpu/gpu/op.h"
#include "tools/simgpu/gpu/range.h"

/* Checks a description (CUDA_MEMCPY3D) and turns it into a copy. */
xcu_result sim_copy_of(const struct xcu_memcpy3d *what, struct sim_copy *copy);

/*
 * Submits copies as one operation, and waits as such a call does: a synchronous one until the
 * data is there (device to device: not at all), an asynchronous one from or to pageable memory
 * until the driver has staged or delivered it.
 */
xcu_result sim_copy_submit(struct sim_copy *copies, size_t count, xcu_stream stream, bool blocking);

/* What a copy node does; an error when node is NULL or the copy is refused. */
xcu_result sim_node_set_copy(struct sim_node *node, const struct xcu_memcpy3d *what);

/* The device's default pool; NULL: out of memory. */
struct sim_pool *sim_default_pool(int device);

#endif
