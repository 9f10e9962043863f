/* What operations do to memory. */
#ifndef SIM_EFFECT_H
#define SIM_EFFECT_H

#include "tools/simgpu/gpu/op.h"

/* Does it; nothing, where the memory is no longer there. */
void sim_effect_do(const struct sim_op *op);

/* A copy that is kept: its pageable sources as they are now. False when there is no memory. */
bool sim_stage(struct sim_op *op);

#endif
