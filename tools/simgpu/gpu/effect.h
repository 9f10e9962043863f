/* What operations do to memory: data that moves, memory that is freed. */
#ifndef SIM_EFFECT_H
#define SIM_EFFECT_H

#include "tools/simgpu/gpu/op.h"

/* Does what the operation does to memory. Memory that was freed meanwhile is left out. */
void sim_effect_do(const struct sim_op *op);

/* Copies the pageable sources of an asynchronous copy, as they are now. False: out of memory. */
bool sim_stage(struct sim_op *op);

#endif
