/*
 * Runs one operation: finds its start and end, and reports it to the hooks.
 *
 * A copy engine takes one copy at a time. By the transfer model of van Werkhoven et al. (section
 * V: n transfers of k bytes in all take Lo + k G + (n - 1) g) a copy that finds its engine still
 * busy hides its latency behind its predecessor: it ends one gap and its own bytes' time after it.
 * One that finds the engine idle takes its full time.
 */
#ifndef SIM_EXECUTE_H
#define SIM_EXECUTE_H

#include "tools/simgpu/gpu/op.h"

/* Runs one operation that may start at `ready` (ns); returns its end. For a copy, `ready` does not
 * include the copy before it on the same engine. */
uint64_t sim_execute(struct sim_op *op, uint64_t ready);

#endif
