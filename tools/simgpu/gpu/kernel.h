/*
 * Kernels, and what they are given. A module is whatever the program loads; its functions are known
 * by name only.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "tools/simgpu/gpu/objects.h"

enum { SIM_MOST_PARAMS = 32 };

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

/* Values of a kernel's parameters, kept for as long as an operation needs them. */
struct sim_params {
    unsigned holders;
    void *values[SIM_MOST_PARAMS];
};

struct sim_kernel {
    struct sim_function *function;
    unsigned grid[3], block[3];
    struct sim_params *params; /* NULL: not known how many there are */
    void **borrowed;           /* the caller's, only during the call */
    bool deferred;             /* runs after the call: borrowed is gone */
    volatile uint32_t *gate;   /* blocks until gate[0] is not 0 */
    uint64_t limit;            /* ns after which a gate gives up */
};

/* Where a parameter lies in one block of parameters; INVALID_VALUE behind the last, as the driver
 * answers. bytes: NULL: not asked for. */
xcu_result sim_param_info(const struct sim_function *function, size_t index, size_t *offset,
                          size_t *bytes);
/* Keeps copies of the parameters, if their number is known. At most one of `params` and `extra` is
 * not NULL. */
xcu_result sim_kernel_params(struct sim_kernel *kernel, void **params, void **extra);
void sim_params_drop(struct sim_params *params);

#endif
