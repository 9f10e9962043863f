/*
 * Kernels and the modules they come from. A module is whatever the program loads; its functions
 * are known by name only.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "tools/simgpu/driver/queue.h"
#include "tools/simgpu/driver/sim.h"

struct sim_module {
    struct sim_function **functions;
    size_t count, room;
    struct sim_symbol *symbols;
    char *text; /* PTX source, when that is what was loaded */
    struct sim_module *next;
};

struct sim_function {
    char *name;
    struct sim_module *module;
    int known; /* which of the probe's kernels, -1 = none */
    xferscope_simgpu_twin *twin;
    const size_t *sizes; /* of its parameters, ended by 0, when the twin says them */
};

/* Its duration in ns. A host twin is called for it; what the probe's kernels do is an effect of its
 * own (effect.h). */
uint64_t sim_kernel_run(const struct sim_kernel *kernel, int device);
/* Keeps the parameter values when their number is known. One of `params` and `extra` is NULL; NULL
 * both where there are none. */
xcu_result sim_kernel_params(struct sim_kernel *kernel, void **params, void **extra);
void sim_params_drop(struct sim_params *params);

#endif
