/* Copies, submitted as calls of the interface do it. */
#ifndef SIM_COPY_SUBMIT_H
#define SIM_COPY_SUBMIT_H

#include "tools/simgpu/gpu/copy.h"

/*
 * Submits copies as one operation, and waits as such a call does: a synchronous one until the
 * data is there (device to device: not at all), an asynchronous one from or to pageable memory
 * until the driver has staged or delivered it.
 */
xcu_result sim_copy_submit(struct sim_copy *copies, size_t count, xcu_stream stream, bool blocking);

#endif
